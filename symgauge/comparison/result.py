"""What a comparison found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from symgauge.comparison.element import Element
from symgauge.comparison.function import FunctionCheck
from symgauge.comparison.residuals import Residual
from symgauge.exact.result import Output

Verdict = Literal["equal", "equal-to-stored-precision", "different"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The answer and what it rests on; true unless the two differ.

    Example:
        >>> import symgauge
        >>> from symgauge.models.huggingface import tiny
        >>> found = symgauge.compare(tiny("llama"), tiny("llama"))
        >>> bool(found), found.verdict, found.tensor
        (True, 'equal', None)
    """

    verdict: Verdict
    tensor: str | None
    """The first tensor that no gauge explains, by its name in B; None if there is none."""
    reason: str
    """One sentence: what agrees to which precision, or the likely mistake."""
    element: Element
    """Takes A to B, as far as they agree."""
    residuals: tuple[Residual, ...]
    """Of every tensor, in the order in which a token meets them."""
    function: FunctionCheck | None = None
    """The two functions run on tokens, unless that was not asked for."""
    notes: tuple[str, ...] = ()
    unties: bool = False
    """Whether A's head is its token table, and B's is not."""
    output: Output = "logits"
    """For "probabilities" heads and logits were compared up to what moves all logits of a position alike."""

    def __bool__(self) -> bool:
        return self.verdict != "different"

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        return {
            "verdict": self.verdict,
            "tensor": self.tensor,
            "output": self.output,
            "reason": self.reason,
            "element": self.element.described(),
            "condition": self.element.condition,
            "residuals": {r.role: r.as_dict() for r in self.residuals},
            "function": None if self.function is None else self.function.as_dict(),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.reason}"]
        if self.tensor is not None:
            lines.append(f"first tensor that no gauge explains: {self.tensor}")
        lines += [f"  {name}: {what}" for name, what in self.element.described().items()]
        if self.function is not None:
            results = "logits" if self.function.of == "tokens" else "results"
            results += " (up to a common shift)" if self.output == "probabilities" else ""
            lines.append(
                f"{results} on {self.function.tokens} {self.function.of} differ by {self.function.logits:.2g} "
                f"(rounding may cause {self.function.allowed:.2g})"
            )
        return "\n".join([*lines, *self.notes])
