"""Which submodule's forward is running, for errors and records that say where something happened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

_RUNNING: list[str] = []


def current() -> str:
    """Path and class of the innermost module that is running, or an empty string."""
    return _RUNNING[-1] if _RUNNING else ""


def where() -> str:
    """ ", called in module …" for the module that is running, or nothing."""
    return f", called in module {_RUNNING[-1]!r}" if _RUNNING else ""


@contextmanager
def module_names(module: nn.Module) -> Iterator[None]:
    """While active, :func:`current` follows the forwards of ``module`` and of its submodules."""
    handles = []
    for name, child in module.named_modules():
        label = f"{name or '(root)'}: {type(child).__name__}"
        handles.append(
            child.register_forward_pre_hook(lambda _m, _i, label=label: _RUNNING.append(label), prepend=True)
        )
        handles.append(child.register_forward_hook(lambda _m, _i, _o: _RUNNING.pop() and None, always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        _RUNNING.clear()
