"""An audit as a page of Markdown."""

from __future__ import annotations

from symgauge.folders.audit import Audit
from symgauge.folders.head_facts import AttentionFacts, PairFacts
from symgauge.reporting import markdown as md


def audit_page(found: Audit) -> str:
    """Markdown: what is free, what it saves, and what is particular about these weights."""
    total = found.bytes
    acting = [share for share in found.full_size.shares if share.dimension]
    return md.document(
        f"# Audit of {md.code(found.source)}",
        f"{found.model_type}, {found.numbers:,} numbers in {_size(total)} "
        f"({', '.join(f'{count:,} {dtype}' for dtype, count in found.stored.items())}).",
        "\n".join(f"- {md.verbatim(note)}" for note in found.notes),
        "## What moves without changing the function",
        f"{found.full_size.dimension:,} directions, for weights in general position, by formulas at full size.",
        md.table(
            ["family", "directions", "formula", "what moves"],
            [[s.name, f"{s.dimension:,}", md.code(str(s.formula)), s.title] for s in acting],
            right=[1],
        ),
        "## What need not be stored",
        md.table(
            ["what", "places", "numbers", "bytes", "share", "function", "done by"],
            [
                [s.what, f"{s.places}", f"{s.numbers:,}", _size(s.bytes), f"{100 * s.bytes / total:.2g} %",
                 "the same" if s.exact else "to the precision stored",
                 md.code(f"symgauge {s.command}") if s.command else "by hand"]
                for s in found.savings
            ],
            right=[1, 2, 3, 4],
        ) if found.savings else "Nothing that symmetries make superfluous.",
        "## Heads",
        _heads(found.attention),
        "## Feed-forward layers",
        _neurons(found),
    )  # fmt: skip


def _size(count: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def _heads(layers: tuple[AttentionFacts, ...]) -> str:
    if not layers:
        return "There is no plain multi-head attention to look at."
    rows = [[layer.layer, *_pair(pair), _some(layer.dead_heads) if i == 0 else ""]
            for layer in layers for i, pair in enumerate(layer.pairs)]  # fmt: skip
    header = ["layer", "product", "rank", "condition", "balanced", "imbalance", "gap", "dead heads"]
    return md.document(
        "*condition* is the largest condition number of a factor as it is (norms folded), *balanced* what "
        "`symgauge canonicalize` makes of it; *imbalance* the largest ratio of the sizes of two factors; *gap* the "
        "least relative distance of two singular values, below which the axes of a head are not determined.",
        md.table(header, rows),
    )


def _pair(pair: PairFacts) -> list[str]:
    rank = f"{pair.rank:,} of {pair.full:,}"
    gap = "" if pair.gap is None else f"{pair.gap:.1e}"
    return [pair.what, rank if pair.rank == pair.full else f"**{rank}**", *(_number(x) for x in (
        pair.condition, pair.balanced, pair.imbalance)), gap]  # fmt: skip


def _number(x: float | None) -> str:
    return "" if x is None else f"{x:.3g}"


def _some(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")


def _neurons(found: Audit) -> str:
    rows = [
        [x.layer, f"{x.width:,}", f"{x.dead:,}", f"{x.doubled:,}",
         "" if x.scales is None else f"{x.scales[0]:.3g} to {x.scales[1]:.3g}"]
        for x in found.neurons
    ]  # fmt: skip
    silent = [f"{md.code(name)} has {count} gains of 0." for name, count in found.dead_channels.items()]
    header = ["layer", "neurons", "dead", "doubled", "outgoing / incoming size"]
    return md.document(md.table(header, rows) if rows else "There are none.", " ".join(silent))
