"""Slots of whole models, from the names of their modules: :func:`layout`, and what places the parts of a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from symgauge.architecture import Architecture
from symgauge.model_graph import graph_of
from symgauge.zoo.parts.entries import Assignment, Entries, heads_in

if TYPE_CHECKING:
    from symgauge.layout import Slot

Slots = Callable[[Architecture, Entries], "dict[str, Slot]"]
Writer = Callable[[Assignment, Architecture, str, str], None]
"""Puts the slots of one sublayer: (assignment, architecture, role of the sublayer, module of the block)."""

PRE = {"norm_1": "input_layernorm", "norm_2": "post_attention_layernorm"}
"""Roles and module names of the norms of a block, as most families call them."""
OUTSIDE = {"token_table": "model.embed_tokens", "final_norm": "model.norm"}
"""Roles and module names of what lies outside of the blocks, as LLaMA calls them."""


def separate(read: str = "self_attn.{letter}_proj", output: str = "self_attn.o_proj") -> Writer:
    """A projection each for queries, keys and values, and norms on queries and keys if there are any.

    ``read`` is the modules' name, with the ``{letter}`` q, k or v, or the whole ``{part}``: query, key or value.
    """

    def write(to: Assignment, a: Architecture, role: str, module: str) -> None:
        for part, heads in (("query", a.heads), ("key", a.groups), ("value", a.groups)):
            to.heads(f"{role}.{part}", f"{module}.{read.format(letter=part[0], part=part)}", heads)
            if a.qk_norm and part != "value":
                across = heads if a.qk_norm_across else 0
                to.norm(f"{role}.{part}_norm", f"{module}.self_attn.{part[0]}_norm", across)
        to.output(f"{role}.output", f"{module}.{output}", a.heads)

    return write


def together(fused: str, output: str) -> Writer:
    """One projection: all queries, then all keys, then all values."""

    def write(to: Assignment, a: Architecture, role: str, module: str) -> None:
        parts = {f"{role}.query": a.heads, f"{role}.key": a.groups, f"{role}.value": a.groups}
        to.split(parts, to.weight(f"{module}.{fused}"), to.bias(f"{module}.{fused}"))
        to.output(f"{role}.output", f"{module}.{output}", a.heads)

    return write


def head_by_head(fused: str, output: str) -> Writer:
    """One projection: each head's query, key and value lie together, in this order."""

    def write(to: Assignment, a: Architecture, role: str, module: str) -> None:
        weight, bias = heads_in(to.weight(f"{module}.{fused}"), a.heads), to.bias(f"{module}.{fused}")
        for index, part in enumerate(("query", "key", "value")):
            to.put(f"{role}.{part}.weight", weight.chunk(3, dim=-1)[index])
            if bias is not None:
                to.put(f"{role}.{part}.bias", bias.reshape(a.heads, -1).chunk(3, dim=-1)[index])
        to.output(f"{role}.output", f"{module}.{output}", a.heads)

    return write


def plain(up: str, down: str) -> Writer:
    """A feed-forward layer without a gate."""

    def write(to: Assignment, a: Architecture, role: str, module: str) -> None:
        to.linear(f"{role}.up", f"{module}.{up}")
        to.linear(f"{role}.down", f"{module}.{down}")

    return write


def gated(to: Assignment, a: Architecture, role: str, module: str) -> None:
    """A feed-forward layer with a gate, each map a module."""
    for part in ("gate", "up", "down"):
        to.linear(f"{role}.{part}", f"{module}.mlp.{part}_proj")


def fused_gate(to: Assignment, a: Architecture, role: str, module: str) -> None:
    """A feed-forward layer whose gate lies before the up map in one module."""
    gate, up = to.weight(f"{module}.mlp.gate_up_proj").chunk(2, dim=-1)
    to.put(f"{role}.gate.weight", gate)
    to.put(f"{role}.up.weight", up)
    to.linear(f"{role}.down", f"{module}.mlp.down_proj")


def mixture(to: Assignment, a: Architecture, role: str, module: str) -> None:
    """Router and experts stacked in 3-D tensors (expert, out, in), the gate's rows before the up map's."""
    to.put(f"{role}.router.weight", to.weight(f"{module}.mlp.gate"))
    fused, down = (to.entries[f"{module}.mlp.experts.{name}"] for name in ("gate_up_proj", "down_proj"))
    for i in range(fused.shape[0]):
        gate, up = fused[i].chunk(2)
        for part, index in (("gate", gate), ("up", up), ("down", down[i])):
            to.put(f"{role}.experts.{i}.{part}.weight", index.T)


def layout(
    *,
    block: str = "model.layers",
    norms: Mapping[str, str] = PRE,
    attention: Writer | None = None,
    feed_forward: Writer = gated,
    outside: Mapping[str, str] = OUTSIDE,
    head: str = "lm_head",
    transposed: bool = True,
    gain_shift: int = 0,
) -> Slots:
    """The slots of a family whose modules have LLaMA's names, but for what is given.

    Args:
        block: the list of blocks.
        norms: role → module, in each block; roles that an architecture lacks are passed over.
        attention: by default one projection for each of q, k, v.
        outside: role → module, of tables, norms and maps outside of the blocks.
        transposed, gain_shift: see :class:`Assignment`.
    """
    attention = attention or separate()

    def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
        to, shapes = Assignment(entries, transposed=transposed, gain_shift=gain_shift), graph_of(a).shapes
        for layer in range(a.layers):
            role, module = f"layers.{layer}", f"{block}.{layer}"
            for norm, name in norms.items():
                if f"{role}.{norm}.gain" in shapes:
                    to.norm(f"{role}.{norm}", f"{module}.{name}")
            attention(to, a, f"{role}.attention", module)
            feed_forward(to, a, f"{role}.ff", module)
        for role, module in outside.items():
            if role in shapes:
                to.table(role, module, a.unused_positions if role == "position_table" else 0)
            elif f"{role}.gain" in shapes:
                to.norm(role, module)
            elif f"{role}.weight" in shapes:
                to.linear(role, module)
        to.head(a, head)
        return to.slots

    return slots
