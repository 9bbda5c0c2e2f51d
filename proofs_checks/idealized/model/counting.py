"""How many inputs a position-free layer can tell apart, in closed form."""

from __future__ import annotations

from math import comb

from symgauge.errors import InvalidInput


def function_classes(vocabulary: int, length: int) -> int:
    """Inputs that one layer without positions tells apart at its last position: V · C(T + V − 2, V − 1).

    Attention sums over the tokens before, so their order is lost: an input counts as its last token and the multiset of
    the T − 1 others.
    """
    if vocabulary < 1 or length < 1:
        raise InvalidInput(f"vocabulary and length must be positive, not {vocabulary} and {length}")
    return vocabulary * comb(length + vocabulary - 2, vocabulary - 1)


def repeated_rows(vocabulary: int, length: int) -> int:
    """Rows of the Jacobian of all logits on all inputs that repeat others: V (V^T − V · C(T + V − 2, V − 1)).

    The dimension of its left null space when the distinct rows are independent, for any parameters, trained or not.
    """
    return vocabulary * (vocabulary**length - function_classes(vocabulary, length))
