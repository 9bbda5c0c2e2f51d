"""Algebra behind single statements: SymPy proofs for every size, and exact counterexamples."""
