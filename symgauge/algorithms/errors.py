"""What an algorithm raises where its answer would not be unique, or would have lost its digits."""

from symgauge.errors import Undecided


class NonGeneric(Undecided):
    """Parameters outside general position (a factor without full rank), at which the method has no unique answer.

    Example:
        >>> import torch, symgauge
        >>> from symgauge.algorithms import random_attention
        >>> layer = random_attention(d_model=5, heads=1, d_k=2, d_v=2)
        >>> symgauge.canonicalize(layer.replace(value=torch.zeros_like(layer.value)))
        Traceback (most recent call last):
            ...
        symgauge.algorithms.errors.NonGeneric: values and outputs of group 0 (block 0): their product has rank ...
    """


class IllConditioned(Undecided):
    """Rounding would cost more than half of the digits, so a result would look exact without being so.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import identity_element, random_attention
        >>> layer = random_attention(d_model=5, heads=1, d_k=2, d_v=2)
        >>> element = identity_element(layer)
        >>> element.value_output[0, 0, 0] = 1e-12
        >>> symgauge.apply(layer, element)
        Traceback (most recent call last):
            ...
        symgauge.algorithms.errors.IllConditioned: the gauge element has condition 1e+12; above 6.71e+07 ...
    """
