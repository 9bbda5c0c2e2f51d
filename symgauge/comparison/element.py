"""An element of a whole model's gauge group: what was done to a checkpoint, as named tensors in a small file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from symgauge.algorithms import GaugeElement
from symgauge.architecture import Architecture
from symgauge.atomic import write_bytes
from symgauge.errors import InvalidFile
from symgauge.models.huggingface.config_file import one_line
from symgauge.reading import check_file

_FORMAT = "symgauge element 1"
_KIND = (
    "d_model", "layers", "heads", "groups", "d_k", "d_v", "d_ff", "gated", "activation", "norm", "placement", "qk_norm",
)  # fmt: skip
_MATRICES = ("stream", "query_key", "value_output", "content", "rotary")
_PARTS = ("query_key", "value_output", "heads", "key_shift", "value_shift")


@dataclass(frozen=True, eq=False)
class Element:
    """Tensors by name. In the order in which they act:

    - ``stream``: the map T (d_model, d_model) of the residual stream, after all norm gains went into what reads them;
    - ``<attention>.query_key`` A, ``.value_output`` C, ``.heads``, ``.key_shift``, ``.value_shift``: as in
      :class:`symgauge.algorithms.GaugeElement`;
    - ``<latent attention>.query_latent``, ``.key_value_latent``, ``.heads``, ``.content``, ``.rotary``,
      ``.value_output``: as in :mod:`symgauge.comparison.latents`;
    - ``<feed-forward>.order``, ``.factors``: neuron i is the old neuron order[i], its input scaled by factors[i];
    - ``<feed-forward>.experts``: expert i is the old expert experts[i];
    - ``<role>.mean``: what is added along **1**, where a LayerNorm does not see it;
    - ``<router>.common``: what is added to the logits of all experts alike, where softmax does not see it;
    - ``<table>.constant``: what is added to every row of a table, and taken from those of another;
    - ``<norm>.gain``, ``.offset``: the norm as it is afterwards; its readers are divided by the gain again;
    - ``<role>.<family>``: coordinates (n,) of a shift that roles trade, from B back to the image so far: the family's
      action with their negatives, at the site that shifts this role first.

    What is not named stays as it is.
    """

    tensors: dict[str, Tensor] = field(default_factory=dict)
    made_for: Mapping[str, Any] = field(default_factory=dict)
    """Of the architecture that it acts on: what a model must have for the element to keep its function."""

    def attention(self, name: str) -> GaugeElement | None:
        """The part that acts on an attention layer, or None."""
        if f"{name}.heads" not in self.tensors:
            return None
        found = {part: self.tensors.get(f"{name}.{part}") for part in _PARTS}
        return GaugeElement(**found)  # type: ignore[arg-type]

    def parts(self, name: str, parts: Iterable[str]) -> dict[str, Tensor]:
        """The parts of a sublayer that there are, by their names in it."""
        return {part: self.tensors[f"{name}.{part}"] for part in parts if f"{name}.{part}" in self.tensors}

    def put_attention(self, name: str, element: GaugeElement) -> None:
        for part in _PARTS:
            tensor = getattr(element, part)
            if tensor is not None:
                self.tensors[f"{name}.{part}"] = tensor

    def moves(self, role: str) -> bool:
        """Whether anything but the identity acts on the sublayer that a role belongs to, or on the stream."""
        sublayer = role.rsplit(".", 2)[0]
        return any(
            (name == "stream" or name.rsplit(".", 1)[0] == sublayer) and not _is_identity(name.rsplit(".", 1)[-1], x)
            for name, x in self.tensors.items()
        )

    def described(self) -> dict[str, str]:
        """What moves, in words, by name; parts that are the identity are left out."""
        found: dict[str, str] = {}
        for name, x in self.tensors.items():
            kind = name.rsplit(".", 1)[-1]
            if name == "stream" or kind in ("query_latent", "key_value_latent", "rotary"):
                from symgauge.comparison.stream import described, is_identity

                if name == "stream" or not is_identity(x):
                    found[name] = described(x)
            elif kind in ("query_key", "content", "value_output"):
                eye = torch.eye(x.shape[-1], dtype=x.dtype)
                moved = [j for j in range(len(x)) if not torch.allclose(x[j], eye, atol=1e-9)]
                if moved:
                    found[name] = (
                        f"{len(moved)} of {len(x)} groups, condition ≤ {float(torch.linalg.cond(x).max()):.3g}"
                    )
            elif kind in ("heads", "order", "experts"):
                count = int((x != torch.arange(len(x))).sum())
                if count:
                    found[name] = f"{count} of {len(x)} renumbered"
            elif kind == "factors":
                if not torch.equal(x, torch.ones_like(x)):
                    found[name] = f"factors {float(x.min()):.3g} to {float(x.max()):.3g}"
            elif kind in ("gain", "offset"):
                found[name] = "folded" if torch.equal(x, torch.full_like(x, float(kind == "gain"))) else "as in B"
            elif bool((x != 0).any()):
                found[name] = f"moved by {float(torch.linalg.vector_norm(x)):.3g}"
        return found

    @property
    def condition(self) -> float:
        """The largest condition number of its matrices."""
        matrices = [x for name, x in self.tensors.items() if name.rsplit(".", 1)[-1] in _MATRICES]
        return max((float(torch.linalg.cond(x).max()) for x in matrices), default=1.0)


def _is_identity(kind: str, x: Tensor) -> bool:
    if kind in ("heads", "order", "experts"):
        return torch.equal(x, torch.arange(len(x)))
    if kind == "factors":
        return torch.equal(x, torch.ones_like(x))
    if kind in ("key_shift", "value_shift"):
        return not bool(x.any())
    return torch.equal(x, torch.eye(x.shape[-1], dtype=x.dtype).expand_as(x)) if x.dim() > 1 else False


INNER = "head.order"
"""The part of an element that renumbers the channels behind a head's dense layer; a tied table has the stream's."""


def kind_of(a: Architecture) -> dict[str, Any]:
    """What two models must share for an element of one to be one of the other; vocabularies may differ."""
    found = {name: getattr(a, name) for name in _KIND}
    rotary = 0 if a.rotary is None else len(a.rotary.turns)
    return found | {"rotary planes": rotary, "experts": 0 if a.experts is None else a.experts.count}


def save_element(element: Element, path: str | Path, about: Mapping[str, Any]) -> None:
    """Write it as safetensors; ``about`` says where it came from."""
    from safetensors.torch import save

    tensors = {name: x.contiguous() for name, x in element.tensors.items()}
    said = json.dumps({**about, "made_for": dict(element.made_for)})
    write_bytes(path, save(tensors, metadata={"format": _FORMAT, "about": said}))


def load_element(path: str | Path) -> tuple[Element, dict[str, Any]]:
    """The element in a file and what it acts on. Raises :class:`InvalidFile` for other files."""
    from safetensors import SafetensorError, safe_open

    check_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            if about.get("format") != _FORMAT:
                raise InvalidFile(f"{path}: holds no element; `symgauge compare A B --element FILE` writes one")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (it is no mapping)
    except SafetensorError as error:
        raise InvalidFile(f"{path}: is no whole safetensors file: {one_line(error, 100)}") from error
    try:
        said = json.loads(about.get("about", ""))
    except ValueError:
        said = None
    made_for = said.get("made_for") if isinstance(said, dict) else None
    if not isinstance(made_for, dict) or tensors.get("stream", torch.zeros(0)).dim() != 2:
        raise InvalidFile(f"{path}: is damaged: it lacks the map of the stream, or what it acts on")
    return Element(tensors, made_for), said
