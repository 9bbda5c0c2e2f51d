"""Exact theory of Lie algebras over ℚ: subspaces, decomposition into ideals, names over ℝ."""

from symgauge.lie.algebra import LieAlgebra
from symgauge.lie.ideals import Ideal
from symgauge.lie.jacobi import JacobiError
from symgauge.lie.matrices import from_matrices
from symgauge.lie.names import common_name
from symgauge.lie.signature import Signature
from symgauge.lie.subspace import Subspace

__all__ = ["Ideal", "JacobiError", "LieAlgebra", "Signature", "Subspace", "common_name", "from_matrices"]
