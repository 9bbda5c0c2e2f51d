"""Every error symgauge raises on purpose: one base class, one clear sentence each (what, where, what to do)."""


class SymgaugeError(Exception):
    """Base of all errors that are the caller's to fix; the command line prints its message without a traceback.

    Example:
        >>> import symgauge
        >>> issubclass(symgauge.InvalidInput, symgauge.SymgaugeError), issubclass(ValueError, symgauge.SymgaugeError)
        (True, False)
    """


class InvalidInput(SymgaugeError, ValueError):
    """A value, shape, name or file that symgauge cannot use.

    Example:
        >>> import symgauge
        >>> symgauge.Vectors(length=0, width=3)
        Traceback (most recent call last):
            ...
        symgauge.errors.InvalidInput: length must be a positive integer, not 0
    """


class InvalidFile(InvalidInput):
    """A file or folder that cannot be used; the sentence begins with its path."""


class ForeignError(InvalidInput):
    """What someone else's code raised, its cause; the sentence says what was done and where."""


class UnsupportedOperation(SymgaugeError):
    """An aten operation without a rule in exact arithmetic.

    Example:
        >>> import torch, symgauge
        >>> class Bessel(torch.nn.Linear):
        ...     def forward(self, x):
        ...         return torch.special.bessel_j0(super().forward(x))
        ...
        >>> symgauge.dimension(Bessel(3, 2), symgauge.Vectors(length=1, width=3))
        Traceback (most recent call last):
            ...
        symgauge.errors.UnsupportedOperation: no exact rule for aten.special_bessel_j0.default, ...
    """


class UnsupportedModel(SymgaugeError):
    """A model or configuration field that no adapter knows; a verdict about another architecture would be worse.

    Example:
        >>> import symgauge
        >>> from symgauge.models.reference import ReferenceModel
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, qk_norm=True)
        >>> symgauge.attention_layers(a, ReferenceModel(a).roles())
        Traceback (most recent call last):
            ...
        symgauge.errors.UnsupportedModel: the gauge algorithms are for softmax attention to all positions, ...
    """


class Undecided(SymgaugeError):
    """The evidence does not settle the question (no gap, too few probes, primes that disagree).

    Example:
        >>> import torch
        >>> from symgauge.numeric import rank_with_gap
        >>> rank_with_gap(torch.diag(10.0 ** -torch.arange(20, dtype=torch.float64)))
        Traceback (most recent call last):
            ...
        symgauge.errors.Undecided: no clear gap: the widest ratio of singular values is 10, ...
    """
