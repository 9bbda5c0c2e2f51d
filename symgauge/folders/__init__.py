"""Whole model folders: what is free in them, their canonical form, and that form stored without what it makes known."""

from symgauge.folders.audit import Audit, Saving, audit
from symgauge.folders.canonicalize import Written, canonicalize_folder
from symgauge.folders.compressing import Compressed, compress_folder, expand_folder

__all__ = [
    "Audit",
    "Compressed",
    "Saving",
    "Written",
    "audit",
    "canonicalize_folder",
    "compress_folder",
    "expand_folder",
]
