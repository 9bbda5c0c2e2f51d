"""What of a checkpoint is free: symmetry families with their gauge, what folds, what can be stored smaller, what is
degenerate at these weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from symgauge.algorithms import group_dimension
from symgauge.checkpoints import StoredModel, open_checkpoint, stored_model
from symgauge.comparison.acting import feed_forwards, name_of
from symgauge.comparison.compare import Source
from symgauge.comparison.heads import attention_of
from symgauge.comparison.neurons import feed_forward_of
from symgauge.comparison.pieces import Piece, anatomy, normal
from symgauge.comparison.sides import Side
from symgauge.folders.head_facts import AttentionFacts, NeuronFacts, attention_facts, neuron_facts
from symgauge.full_size import FullSize, full_size
from symgauge.model_graph import Attention

_UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8, "Q8_0": 2.0**-8}
_COARSE = 2.0**-4
"""Of everything else that is quantised."""


@dataclass(frozen=True)
class Saving:
    """Numbers that need not be stored. ``exact`` says that the function stays to rounding of the arithmetic, and not
    only to the precision stored; ``command`` what does it, if symgauge does."""

    what: str
    places: int
    numbers: int
    bytes: float
    exact: bool
    command: str


@dataclass(frozen=True, eq=False)
class Audit:
    """The audit of one checkpoint; ``as_dict`` is its JSON, ``symgauge.folders.audit_page`` its Markdown."""

    source: str
    model_type: str
    stored: dict[str, int]
    """Numbers stored in each dtype."""
    full_size: FullSize
    savings: tuple[Saving, ...]
    attention: tuple[AttentionFacts, ...]
    neurons: tuple[NeuronFacts, ...]
    dead_channels: dict[str, int]
    """Norms (by the name of their gain) → gains that are 0."""
    notes: tuple[str, ...]

    @property
    def numbers(self) -> int:
        return sum(self.stored.values())

    @property
    def bytes(self) -> float:
        return sum(count * size_of(dtype) for dtype, count in self.stored.items())

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "source": self.source,
            "model_type": self.model_type,
            "numbers": self.numbers,
            "bytes": round(self.bytes),
            "stored": self.stored,
            "gauge": self.full_size.as_dict(),
            "savings": [{**asdict(s), "bytes": round(s.bytes)} for s in self.savings],
            "attention": [x.as_dict() for x in self.attention],
            "feed_forward": [x.as_dict() for x in self.neurons],
            "dead_channels": self.dead_channels,
            "notes": list(self.notes),
        }


def audit(source: Source, progress: Callable[[str, float], None] | None = None) -> Audit:
    """Look through a checkpoint (folder, file, module): what symmetries leave free in it, and what that saves.

    The dimension of each family is its formula at full size (:func:`symgauge.full_size.full_size`), for parameters in
    general position; what is particular about these weights (ranks below full, dead or doubled units, conditioning) is
    measured on them in float64, norms folded, one layer in memory at a time. Raises as opening the checkpoint does.

    Example:
        >>> import symgauge
        >>> from symgauge.models.huggingface import tiny
        >>> found = symgauge.audit(tiny("llama"))
        >>> found.savings[0].what, found.savings[0].numbers
        ('norm gains folded into what reads them', 24)
    """
    model = stored_model(open_checkpoint(source))
    side = Side(model, model.architecture, model.graph)
    found = _Findings(model)
    body = anatomy(side)
    with torch.no_grad():
        for done, piece in enumerate(body.pieces):
            if not any(m.weight in model.graph.tables for m in piece.readers):  # a tied head
                found.piece(side, piece, normal(side, piece, body).roles if piece.sublayers else {})
            if progress is not None:
                progress(piece.name, (done + 1) / len(body.pieces))
        for role in (*body.tables, "unembedding.weight"):
            if role in model.parts:  # nothing above reads tables, and what is not finite has nothing free
                for _ in side.rows(role):
                    pass
        found.equal_tables()
    return found.result()


class _Findings:
    def __init__(self, model: StoredModel) -> None:
        self.model = model
        self.attention: list[AttentionFacts] = []
        self.neurons: list[NeuronFacts] = []
        self.dead: dict[str, int] = {}
        self.notes: list[str] = []
        self.saved: dict[tuple[str, bool, str], list[float]] = {}

    def save(self, what: str, numbers: int, role: str, *, exact: bool, command: str = "") -> None:
        if numbers:
            total = self.saved.setdefault((what, exact, command), [0, 0, 0.0])
            total[0] += 1
            total[1] += numbers
            total[2] += numbers * size_of(self.model.dtype_of(role))

    def piece(self, side: Side, piece: Piece, roles: dict[str, torch.Tensor]) -> None:
        shapes, norm = self.model.graph.shapes, piece.norm
        if norm is not None:
            self.save("norm gains folded into what reads them", norm.width, norm.gain, exact=True, command="compress")
            if norm.offset is not None and all(m.bias is not None for m in piece.readers):
                self.save("norm offsets folded into biases", norm.width, norm.offset, exact=True, command="compress")
            silent = int((side.read(norm.gain) == 0).sum())
            if silent:
                self.dead[side.name(norm.gain)] = silent
                columns = sum(torch.Size(shapes[m.weight]).numel() // norm.width for m in piece.readers)
                self.save("rows that a gain of 0 hides", silent * columns, norm.gain, exact=True)
        for s in piece.sublayers:
            if isinstance(s, Attention):
                self.heads(side, s, roles)
        for f in feed_forwards(piece):
            layer = feed_forward_of(
                {r: x for r, x in roles.items() if r in shapes}, f, self.model.architecture.activation
            )
            facts = neuron_facts(f.up.weight.removesuffix(".up.weight"), layer, self.unit(f.up.weight))
            self.neurons.append(facts)
            self.save("dead and doubled neurons left out", facts.saved, f.up.weight, exact=False)

    def heads(self, side: Side, s: Attention, roles: dict[str, torch.Tensor]) -> None:
        a = self.model.architecture
        p = attention_of({r: x for r, x in roles.items() if r in self.model.graph.shapes}, s, a)
        facts = attention_facts(name_of(s), p, self.unit(s.query.weight))
        if a.qk_norm or a.attention != "softmax":
            facts = AttentionFacts(facts.layer, facts.pairs[-1:], facts.dead_heads)
        self.attention.append(facts)
        for pair in facts.pairs:
            self.save(f"{pair.what} of a product without full rank", pair.saved, s.query.weight, exact=False)
        if a.qk_norm or a.attention != "softmax" or a.alibi:
            return
        self.save(
            "identity blocks in keys and values", group_dimension(p), s.value.weight, exact=True, command="compress"
        )
        if p.key_bias is not None and s.key.bias is not None:
            channels = int(p.free_key_channels().sum())
            whole = "compress" if channels == p.d_k else ""
            self.save(
                "key biases that softmax does not see", channels * p.groups, s.key.bias, exact=True, command=whole
            )
        if p.value_bias is not None and p.output_bias is not None and s.value.bias is not None:
            self.save("value biases carried to output biases", p.value_bias.numel(), s.value.bias, exact=True,
                      command="compress")  # fmt: skip

    def unit(self, role: str) -> float:
        return _UNIT.get(self.model.dtype_of(role), _COARSE)

    def equal_tables(self) -> None:
        """A head that is stored apart and equal to the token table."""
        model, names = self.model, []
        for role in ("token_table", "unembedding.weight"):
            if role not in model.parts:
                return
            names.append(model.name_of(role))
        table, head = (model.checkpoint.stored(name) for name in names)
        if table.shape == head.shape and torch.equal(table, head):
            self.save("a head equal to the token table, tied", table.numel(), "token_table", exact=True)

    def result(self) -> Audit:
        model = self.model
        stored: dict[str, int] = {}
        for name in dict.fromkeys((*model.stored.values(), *model.others)):
            dtype = model.checkpoint.dtype(name)
            stored[dtype] = stored.get(dtype, 0) + torch.Size(model.checkpoint.shape(name)).numel()
        if model.graph.head is None:
            self.notes.append("the checkpoint has no head; the families are counted for the model with one")
        if model.others:
            self.notes.append(
                f"{len(model.others)} tensors belong to no role of the architecture: {model.others[0]}, …"
            )
        savings = tuple(
            Saving(what, int(places), int(numbers), size, exact, command)
            for (what, exact, command), (places, numbers, size) in self.saved.items()
        )
        return Audit(
            model.checkpoint.source, model.family.model_type, stored, full_size(model.architecture), savings,
            tuple(self.attention), tuple(self.neurons), self.dead, tuple(self.notes),
        )  # fmt: skip


def size_of(dtype: str) -> float:
    """Bytes of one number; of a GGUF type, its share of a block."""
    if isinstance(found := getattr(torch, dtype, None), torch.dtype):
        return found.itemsize
    import gguf

    block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[dtype]]
    return size / block
