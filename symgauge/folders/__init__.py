"""Whole model folders: what is free in them, their canonical form, and that form stored without what it makes known."""

from symgauge.folders.canonicalize import Written, canonicalize_folder

__all__ = ["Written", "canonicalize_folder"]
