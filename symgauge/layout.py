"""Where each role's numbers lie in a module's parameters.

A module's parameters, each tensor once and in the order of ``named_parameters()``, make one flat vector θ of length P.
A :class:`Slot` gives, for every entry of a role, its position in θ, so fused, interleaved and transposed checkpoint
layouts are data and not code paths. The same layout reads roles from θ, writes tangents back, in any arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from symgauge.checks import did_you_mean, is_integer, shown
from symgauge.errors import InvalidInput


@dataclass(frozen=True)
class Slot:
    """Positions in θ of a role's entries (int64, the role's canonical shape); the role is θ[index] + shift.

    ``shift`` is 1 where a module stores a norm gain as its distance from one (Gemma).
    """

    index: Tensor
    shift: int = 0


@dataclass(frozen=True)
class Layout:
    """Slots of all roles in a parameter vector of length ``size``; ``names``: the module's parameters in order.

    Raises :class:`InvalidInput` for positions outside of the vector, or that belong to two roles.

    Example:
        >>> import torch, symgauge
        >>> module = torch.nn.Linear(3, 2)
        >>> layout = symgauge.Layout.of(module, {"up.weight": ("weight", lambda w: w.mT), "up.bias": "bias"})
        >>> theta = torch.nn.utils.parameters_to_vector(module.parameters())
        >>> {role: tuple(tensor.shape) for role, tensor in layout.read(theta).items()}, layout.size
        ({'up.weight': (3, 2), 'up.bias': (2,)}, 8)
    """

    slots: Mapping[str, Slot]
    size: int
    names: tuple[tuple[str, int], ...]
    """(parameter name, number of entries) in the order of θ."""

    def __post_init__(self) -> None:
        if not self.slots:
            raise InvalidInput("layout: it names no role, so there is nothing to account for")
        named = sum(count for _, count in self.names)
        if self.size != named:
            raise InvalidInput(f"layout: size is {shown(self.size)}, but the tensors in names have {named} entries")
        for role, slot in self.slots.items():
            _check_slot(role, slot, self.size)
        taken = torch.cat([slot.index.flatten() for slot in self.slots.values()])
        count = torch.bincount(taken, minlength=self.size)
        if bool((count > 1).any()):
            twice = [name for name, slot in self.slots.items() if bool((count[slot.index.flatten()] > 1).any())]
            raise InvalidInput(f"layout: each parameter entry may belong to one role only; shared by {twice}")
        object.__setattr__(self, "_unused", torch.nonzero(count == 0).flatten())

    @classmethod
    def of(cls, module: nn.Module, roles: Mapping[str, str | tuple[str, Callable[[Tensor], Tensor]]]) -> Layout:
        """Layout from role → parameter name, or (parameter name, what turns its shape into the role's).

        The second form is any operation that moves entries, such as ``lambda w: w.mT`` for a torch ``nn.Linear``.
        """
        if not isinstance(module, nn.Module) or not isinstance(roles, Mapping):
            raise InvalidInput(
                f"Layout.of takes a module and a dict from roles to parameter names, not {type(module).__name__} and "
                f"{type(roles).__name__}"
            )
        _, names = flatten(module)
        shapes = {name: p.shape for name, p in module.named_parameters()}
        numbers: dict[str, Tensor] = {}
        start = 0
        for name, count in names:
            numbers[name] = torch.arange(start, start + count).reshape(shapes[name])
            start += count
        slots = {}
        for role, source in roles.items():
            name, move = _source(role, source)
            if name not in numbers:
                near = did_you_mean(name, numbers) or f"; it has {', '.join([*numbers][:12])}"
                raise InvalidInput(f"role {role!r}: the module has no parameter {name!r}{near}")
            slots[role] = Slot(numbers[name] if move is None else _moved(role, numbers[name], move))
        return cls(slots, start, names)

    @classmethod
    def by_name(cls, module: nn.Module) -> Layout:
        """The layout whose roles are the module's parameters as they are."""
        return cls.of(module, {name: name for name, _ in flatten(module)[1]})

    @property
    def unused(self) -> Tensor:
        """Positions of θ that belong to no role."""
        return self._unused  # type: ignore[attr-defined]

    def read(self, theta: Tensor) -> dict[str, Tensor]:
        """Roles from a parameter vector of shape (P,)."""
        return {name: theta[slot.index] + slot.shift for name, slot in self.slots.items()}

    def write(self, roles: Mapping[str, Tensor], theta: Tensor) -> Tensor:
        """A copy of ``theta`` (P,) in which every role given is replaced."""
        result = theta.clone()
        for name, value in roles.items():
            slot = self.slots[name]
            result[slot.index] = value - slot.shift
        return result

    def scatter(self, tangents: Mapping[str, Tensor]) -> Tensor:
        """Tangent vectors (m, P) from role tangents (m, *role shape); roles not named stay zero."""
        m = next(iter(tangents.values())).shape[0]
        first = next(iter(tangents.values()))
        result = first.new_zeros((m, self.size))
        for name, tangent in tangents.items():
            result[:, self.slots[name].index.flatten()] = tangent.reshape(m, -1)
        return result


def _check_slot(role: str, slot: Slot, size: int) -> None:
    """See that a role's positions are integers inside of θ."""
    if not isinstance(slot, Slot) or not isinstance(slot.index, Tensor):
        raise InvalidInput(f"layout: role {role!r} is {shown(slot)}; give a Slot with a tensor of positions")
    index = slot.index
    if index.dtype != torch.int64:
        raise InvalidInput(f"layout: the positions of role {role!r} are {index.dtype}; they must be int64")
    if not is_integer(slot.shift):
        raise InvalidInput(f"layout: the shift of role {role!r} must be an integer, not {shown(slot.shift)}")
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < size:
        outside = int(index.min()) if int(index.min()) < 0 else int(index.max())
        raise InvalidInput(f"layout: role {role!r} has position {outside}, outside of the {size} parameter entries")


def _source(role: str, source: object) -> tuple[str, Callable[[Tensor], Tensor] | None]:
    """A parameter's name, and what turns its shape into the role's."""
    if isinstance(source, str):
        return source, None
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], str) and callable(source[1]):
        return source[0], source[1]
    raise InvalidInput(
        f"role {role!r} is {shown(source)}; give a parameter's name, or (name, a function that moves its entries)"
    )


def _moved(role: str, numbers: Tensor, move: Callable[[Tensor], Tensor]) -> Tensor:
    try:
        return move(numbers)
    except Exception as error:
        shape = tuple(numbers.shape)
        raise InvalidInput(f"role {role!r}: moving the entries of a tensor {shape} raised {error}") from error


def flatten(module: nn.Module) -> tuple[Tensor, tuple[tuple[str, int], ...]]:
    """θ (P,) of a module in float64, with (name, entries) in order; tied parameters once, under their first name."""
    named = list(module.named_parameters())
    if not named:
        raise InvalidInput(f"{type(module).__name__} has no parameters, so there is no fibre to measure")
    return parameters_to_vector(p.detach().double() for _, p in named), tuple((n, p.numel()) for n, p in named)
