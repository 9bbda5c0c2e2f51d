"""What is measured: a private copy of a module, which of its parameters count, how it is called and what it returns."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from symgauge.arithmetic.run import Memory
from symgauge.errors import InvalidInput
from symgauge.exact.probes import Inputs
from symgauge.private import private_copy

Counted = Literal["trained", "all"]
Chosen = str | int | Sequence[str | int] | None


class ParameterFunction:
    """A module as a function of its counted parameters.

    Args:
        module: the user's module; it is copied and never run.
        inputs: what it takes.
        parameters: ``"trained"`` holds parameters with ``requires_grad=False`` at their values; ``"all"`` does not.
        outputs: names (of a dict, dataclass or object) or numbers (of a tuple) of outputs that count; by default all
            tensors, or ``logits`` where there is such an output.

    Raises:
        InvalidInput: a module that cannot be copied or has nothing to count; parameters that overlap in memory.
    """

    def __init__(
        self,
        module: nn.Module,
        inputs: Inputs,
        parameters: Counted = "trained",
        outputs: Chosen = None,
        device: str = "cpu",
    ) -> None:
        self.module = private_copy(module).to(device)
        self.plain = private_copy(module)
        """A second copy, to be run as it is."""
        self.inputs = inputs
        self.outputs = outputs
        self.notes: list[str] = []
        self.axes: dict[str, int] = {}
        """Output → the axis on which it counts the inputs of a batch; see :mod:`symgauge.exact.agreement`."""
        self.point_size = 1.0
        """Factor of random points: less than one where functions are flat in float64 at larger ones."""
        named = [(name, p) for name, p in self.module.named_parameters() if p.is_floating_point()]
        for name, p in self.module.named_parameters():
            if p.is_complex():
                raise InvalidInput(
                    f"parameter {name!r} is complex; hold its real and imaginary part as parameters, and put them "
                    "together by torch.complex in forward"
                )
        trained = [(name, p) for name, p in named if p.requires_grad]
        if parameters == "trained" and named and not trained:
            self.notes.append("every parameter has requires_grad=False, so all of them count")
        self.counted = named if parameters == "all" or not trained else trained
        if not self.counted:
            raise InvalidInput(f"{type(module).__name__} has no parameters, so there is no fibre to measure")
        if held := len(named) - len(self.counted):
            numbers = sum(p.numel() for _, p in named) - self.size
            self.notes.append(
                f"{held} parameters with requires_grad=False ({numbers:,} numbers) are held at their values"
            )
        self.memory = Memory()
        originals = dict(module.named_parameters())
        names = {name.removeprefix("_orig_mod."): name for name in originals}
        _check_overlap([(name, originals[names[name]]) for name, _ in self.counted])
        for name, p in self.counted:
            self.memory.add(name, p)
            self.memory.add(name, originals[names[name]])
        self.keywords = self._keywords()

    @property
    def name(self) -> str:
        return type(self.module).__name__

    @property
    def size(self) -> int:
        """P, how many numbers count."""
        return sum(p.numel() for _, p in self.counted)

    def own_point(self) -> Tensor:
        """The module's present parameters (P,) as exact float64 numbers; NaN and infinities are refused."""
        bad = [name for name, p in self.counted if not bool(torch.isfinite(p).all())]
        if bad:
            raise InvalidInput(
                f"parameters {bad} hold NaN or infinite entries; the fibre of such a point is not defined"
            )
        return torch.cat([p.detach().double().reshape(-1) for _, p in self.counted])

    def _keywords(self) -> dict[str, Any]:
        """``use_cache=False`` where it is known. Refuses a forward that takes no input, or needs more than one."""
        arguments = inspect.signature(self.module.forward).parameters
        needed = [
            a.name
            for a in arguments.values()
            if a.default is a.empty and a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD, a.KEYWORD_ONLY)
        ]
        takes = [a for a in arguments.values() if a.kind is not a.VAR_KEYWORD] or arguments
        keyword = self.inputs.keyword
        if (
            keyword is not None
            and keyword not in arguments
            and not any(a.kind is a.VAR_KEYWORD for a in arguments.values())
        ):
            raise InvalidInput(f"{self.name}.forward has no argument {keyword!r}; it takes {', '.join(arguments)}")
        more = [name for name in needed if name != keyword][0 if keyword is not None else 1 :]
        if not takes:
            raise InvalidInput(f"{self.name}.forward takes no input, so it is no function to measure; give it one")
        if more:
            raise InvalidInput(
                f"{self.name}.forward also needs {' and '.join(map(repr, more))}, and only one input is fed; wrap the "
                "module in one whose forward makes the rest out of its input"
            )
        return {"use_cache": False} if "use_cache" in arguments else {}

    def call(self, module: nn.Module, batch: Tensor) -> dict[str, Tensor]:
        """Run ``module`` (this one or a copy) on a batch (batch, …); the outputs that count, by name."""
        if axis := self.inputs.batch_axis:
            batch = batch.movedim(0, axis)
        keyword = self.inputs.keyword
        args, kwargs = ((batch,), {}) if keyword is None else ((), {keyword: batch})
        found = dict(_tensors(module(*args, **kwargs, **self.keywords)))
        return {name: torch.view_as_real(x) if x.is_complex() else x for name, x in self._chosen(found).items()}

    def _chosen(self, found: dict[str, Tensor]) -> dict[str, Tensor]:
        if self.outputs is None:
            if "logits" not in found:
                return found
            if len(found) > 1:
                note = "of several outputs only 'logits' counts; name others by outputs="
                self.notes += [] if note in self.notes else [note]
            return {"logits": found["logits"]}
        wanted = [self.outputs] if isinstance(self.outputs, (str, int)) else list(self.outputs)
        chosen = {}
        for each in wanted:
            here = {name: x for name, x in found.items() if name == str(each) or name.startswith(f"{each}.")}
            if not here:
                raise InvalidInput(
                    f"outputs: {self.name} returns no {each!r}; it returns {', '.join(found) or 'no tensor'}"
                )
            chosen.update(here)
        return chosen


def _tensors(value: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """Every floating tensor in a result, by its path."""
    if isinstance(value, Tensor):
        if value.is_floating_point() or value.is_complex():
            yield name or "output", value
        return
    items: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        items = list(zip(value._fields, value, strict=True))
    elif isinstance(value, (tuple, list)):
        items = list(enumerate(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
    elif hasattr(value, "__dict__"):
        items = list(vars(value).items())
    for key, part in items:
        yield from _tensors(part, f"{name}.{key}" if name else str(key))


def _check_overlap(parameters: Sequence[tuple[str, Tensor]]) -> None:
    """Refuse two parameters, or two entries of one, that are the same number in memory."""
    homes: dict[int, list[tuple[str, Tensor]]] = {}
    for name, p in parameters:
        homes.setdefault(p.untyped_storage().data_ptr(), []).append((name, p))
    for together in homes.values():
        taken: dict[int, str] = {}
        for name, p in together:
            span = torch.zeros(p.untyped_storage().nbytes() // p.element_size(), dtype=torch.int64)
            count = span.scatter_add(0, _places(p), torch.ones(p.numel(), dtype=torch.int64))
            if bool((count > 1).any()):
                raise InvalidInput(
                    f"parameter {name!r} uses one number for several entries; make it a smaller parameter"
                )
            if len(together) == 1:
                continue
            for place in torch.nonzero(count).flatten().tolist():
                if place in taken:
                    raise InvalidInput(
                        f"parameters {taken[place]!r} and {name!r} share memory without being one "
                        "parameter, so they are "
                        "not independent; assign the same nn.Parameter to both, or register one and compute the other"
                    )
                taken[place] = name


def _places(p: Tensor) -> Tensor:
    """Positions in its memory of a tensor's entries."""
    numbers = torch.arange(p.untyped_storage().nbytes() // p.element_size())
    return numbers.as_strided(p.shape, p.stride(), p.storage_offset()).reshape(-1)
