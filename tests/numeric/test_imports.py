"""Numeric evidence stands beside the exact and the symbolic kind, so that neither can lend it a mistake."""

from __future__ import annotations

import subprocess
import sys


def test_numeric_and_strategies_use_neither_exact_nor_symbolic_code() -> None:
    code = (
        "import sys, symgauge.numeric, symgauge.strategies\n"
        "print([m for m in sys.modules if m.startswith(('symgauge.exact', 'symgauge.symbolic'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
