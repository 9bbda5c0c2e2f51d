"""What is measured, made once from whatever names it: a module, an architecture, a file, a configuration, a preset."""

from symgauge.subjects.subject import Subject
from symgauge.subjects.target import subject_of

__all__ = ["Subject", "subject_of"]
