"""Numbers of the long version that the short one, which has no tables, sums up: read from its words."""

from __future__ import annotations

import re
from pathlib import Path

from symgauge.claims.source_text import text_of

TEXT = text_of(Path(__file__).parent)
LONG_VERSION = text_of(Path(__file__).parents[1] / "gauge")


def _errors(quotation: str) -> list[float]:
    """The numbers of a quotation of the long version that have a power of ten."""
    numbers = re.findall(r"(\d\.\d+) ?(?:×|\\times) ?10\^\{(-\d+)\}", LONG_VERSION.quote(quotation))
    return [float(f"{number}e{exponent}") for number, exponent in numbers]


(EPSILON,) = _errors(r"\varepsilon_{\text{mach}} \approx 2.22 \times 10^{-16}$ is machine epsilon")
"""Machine epsilon as the long version has it."""
LARGEST_ERRORS = {
    **dict(
        zip(
            ("Small", "Medium", "Large"),
            _errors(r"3.66 \times 10^{-15} 3.17 \times 10^{-15} 5.28 \times 10^{-15}"),
            strict=True,
        )
    ),
    **{
        row: _errors(f"{row} {sizes}{error}")[0]
        for row, sizes, error in (
            ("QK only", "", "5.61×10^{-16}"),
            ("VO only", "", "4.61×10^{-15}"),
            ("QK + VO", "", "4.74×10^{-15}"),
            ("Permutation only", "", "1.76×10^{-15}"),
            ("Config A", "8 64 128 1024 ", "4.91×10^{-15}"),
            ("Config B", "8 128 64 512 ", "5.02×10^{-15}"),
            ("Config C", "12 96 64 768 ", "4.77×10^{-15}"),
            ("GPT-2", "12 64 64 768 ", "5.11×10^{-15}"),
            ("BERT-Base", "12 64 64 768 ", "4.89×10^{-15}"),
            ("GPT-3 config", "96 128 128 12288 ", "7.33×10^{-15}"),
            ("GPT-2 (10k steps)", "12 64 64 768 ", "5.44×10^{-15}"),
            ("GPT-2 (converged)", "12 64 64 768 ", "5.67×10^{-15}"),
        )
    },
}
"""Tables 2, 3 and 6: the largest relative error under elements of the group, row by row."""
