"""Every error symgauge raises on purpose: one base class, one clear sentence each (what, where, what to do)."""


class SymgaugeError(Exception):
    """Base of all errors that are the caller's to fix; the command line prints its message without a traceback."""


class InvalidInput(SymgaugeError, ValueError):
    """A value, shape, name or file that symgauge cannot use."""


class InvalidFile(InvalidInput):
    """A file or folder that cannot be used; the sentence begins with its path."""


class ForeignError(InvalidInput):
    """What someone else's code raised, its cause; the sentence says what was done and where."""


class UnsupportedOperation(SymgaugeError):
    """An aten operation without a rule in exact arithmetic."""


class UnsupportedModel(SymgaugeError):
    """A model or configuration field that no adapter knows; a verdict about another architecture would be worse."""


class Undecided(SymgaugeError):
    """The evidence does not settle the question (no gap, too few probes, primes that disagree)."""
