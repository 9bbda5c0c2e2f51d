"""A model folder in canonical form, as another folder that loads where the first did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from symgauge.errors import InvalidInput
from symgauge.folders.canonical_pieces import canonical_pieces
from symgauge.folders.rewriting import Progress, as_stored, opened, shown, writing


@dataclass(frozen=True)
class Written:
    """What a folder was made into.

    ``rounding`` bounds the relative error of the heads' weights before they are rounded to the dtype stored (first
    order); ``notes`` say what is not determined, or stays as it was.
    """

    out: str
    rounding: float
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"out": self.out, "rounding": self.rounding, "notes": list(self.notes)}


def canonicalize_folder(
    source: str | Path, out: str | Path, *, form: str = "balanced", untie: bool = False, dtype: str = "",
    progress: Progress | None = None,
) -> Written:  # fmt: skip
    """Write the canonical form of a model folder (or GGUF file) to the new folder ``out``: one representative of all
    checkpoints that symmetries take into each other.

    Norm gains and offsets are folded into what reads them, the stream is in a fixed basis where nothing outside of the
    model reads it, heads are balanced and in order, neurons ordered and scaled (:func:`canonical_pieces`). The function
    is the same up to rounding to ``dtype``, by default each tensor's own; arithmetic is float64. Parts and names of the
    files stay, as do configuration and tokenizer. A tied head pins the final norm; ``untie`` stores the head as a
    tensor of its own, so that it can be folded and the stream turned, and says so in the configuration. ``form``
    "minor" gives the heads the form that :func:`~symgauge.folders.compressing.compress_folder` stores.

    One layer is in memory at a time. Raises :class:`InvalidInput` for what cannot be read or written, and
    :class:`UnsupportedModel` for families without an adapter.

    Example:
        >>> import tempfile, symgauge
        >>> from symgauge.models.huggingface import tiny
        >>> place = tempfile.mkdtemp()
        >>> tiny("llama").save_pretrained(f"{place}/model")
        >>> symgauge.canonicalize_folder(f"{place}/model", f"{place}/canonical").notes
        ('basis of the stream: axes of the token table',)
    """
    if form not in ("balanced", "minor"):
        raise InvalidInput(f"no canonical form {form!r} of a folder; choose 'balanced' or 'minor'")
    model = opened(source, untie, dtype)
    notes: list[str] = []
    rounding = 0.0
    with writing(model, Path(out)) as add, torch.no_grad():
        for fixed in shown(canonical_pieces(model, minor=form == "minor"), model, progress):
            notes += fixed.notes
            rounding = max(rounding, fixed.rounding)
            for name, tensor in as_stored(model, fixed.roles, dtype).items():
                add(name, tensor)
    return Written(str(out), rounding, tuple(notes))
