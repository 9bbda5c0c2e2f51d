"""Proof by algebra: SymPy identities for every size, exact Lie-algebra kernels, dimension formulas.

An oracle of its own: it imports neither torch nor the finite-field engine nor the float64 checks, so agreement with
them is evidence. Import the module you need:

    words           normal form of noncommutative matrix expressions; `prove_equal`, `refute`
    identities      the symmetries of transformers as dimension-free identities, each with a broken twin
    tangent         the exact first-order kernel of attention at a given parameter point
    lie_algebra     generators, vector-field brackets, freeness
    dimensions      fibre-dimension formulas of whole models
"""
