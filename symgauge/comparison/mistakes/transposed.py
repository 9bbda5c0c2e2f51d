"""A square matrix stored the other way round."""

from symgauge.comparison.difference import Diagnosis, Difference


def recognise(difference: Difference) -> Diagnosis | None:
    turned = difference.transposed()
    if turned is None or not difference.explains(turned):
        return None
    return Diagnosis("the matrix is stored transposed")
