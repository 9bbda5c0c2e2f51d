"""What an algorithm raises where its answer would not be unique, or would have lost its digits."""

from symgauge.errors import Undecided


class NonGeneric(Undecided):
    """Parameters outside general position (a factor without full rank), at which the method has no unique answer."""


class IllConditioned(Undecided):
    """Rounding would cost more than half of the digits, so a result would look exact without being so."""
