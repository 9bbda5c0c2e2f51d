"""Checks of arguments that many functions share: each refuses with one sentence that says what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from symgauge.errors import InvalidInput

_MOST = 60
"""Characters of a value that are quoted back."""


_ALSO_CALLED = {"swish": "silu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "layernorm": "layer"}


def shown(value: object) -> str:
    """A value as it is quoted in a sentence: its repr, cut where it is long."""
    try:
        text = repr(value)
    except Exception:  # of an integer with thousands of digits, or of someone else's class
        text = f"a {type(value).__name__}"
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """ "; did you mean …?" for a near miss, or nothing."""
    if not isinstance(word, str):
        return ""
    words, asked = list(known), word[:_MOST].lower()
    other = _ALSO_CALLED.get(asked)
    near = [other] if other in words else difflib.get_close_matches(asked, words, n=2, cutoff=0.5)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def listed(words: Iterable[object], last: str = "or") -> str:
    """'a', 'b' or 'c'."""
    quoted = [repr(word) for word in words]
    return f" {last} ".join([*([", ".join(quoted[:-1])] if quoted[:-1] else []), *quoted[-1:]])


def check_choice(name: str, value: object, known: Iterable[str]) -> None:
    """Raises InvalidInput unless ``value`` is one of the words."""
    known = list(known)
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"{name} must be {listed(known)}, not {shown(value)}{did_you_mean(value, known)}")


def is_integer(value: object) -> bool:
    """An int that is no bool (True is an int in Python)."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_seed(seed: Any, name: str = "seed") -> None:
    """Raises InvalidInput unless ``seed`` is an integer from 0 to 2⁶³ − 1."""
    if not is_integer(seed) or not 0 <= seed < 2**63:
        raise InvalidInput(f"{name} must be an integer from 0 to 2^63 - 1, not {shown(seed)}")


def check_count(name: str, value: Any) -> None:
    """Raises InvalidInput unless ``value`` is a positive integer."""
    if not is_integer(value) or value < 1:
        raise InvalidInput(f"{name} must be a positive integer, not {shown(value)}")


def check_device(device: Any, name: str = "device") -> None:
    """Raises InvalidInput unless ``device`` is "cpu", or a CUDA device that is there."""
    import torch

    text = str(device) if isinstance(device, torch.device) else device
    kind, _, index = text.partition(":") if isinstance(text, str) else ("", "", "")
    if kind not in ("cpu", "cuda") or (":" in str(text) and not index.isdecimal()):
        hint = "; write 'cuda' for a graphics card" if kind == "gpu" else ""
        hint = "; its arithmetic has no float64, which exactness needs" if kind == "mps" else hint
        raise InvalidInput(f"{name} {shown(device)}: choose cpu or cuda{hint}")
    if kind == "cpu" and index not in ("", "0"):
        raise InvalidInput(f"{name} {text}: there is one cpu; write cpu")
    if kind == "cuda":
        if not torch.cuda.is_available():
            raise InvalidInput(f"{name} {text}: torch sees no CUDA device here; leave it out to compute on the CPU")
        if index and int(index) >= torch.cuda.device_count():
            raise InvalidInput(f"{name} {text}: torch sees {torch.cuda.device_count()} CUDA device(s), numbered from 0")


def check_progress(progress: Any) -> None:
    """Raises InvalidInput unless ``progress`` is None or can be called."""
    if progress is not None and not callable(progress):
        raise InvalidInput(f"progress must be a function of (stage, rank so far, parameters), not {shown(progress)}")


def check_measuring(*, seed: Any = 0, device: Any = "cpu", rounds: Any = 1, progress: Any = None) -> None:
    """The options that every measurement has. Raises InvalidInput."""
    check_seed(seed)
    check_device(device)
    check_count("rounds", rounds)
    check_progress(progress)
