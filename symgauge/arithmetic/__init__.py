"""Arithmetics in which an ordinary torch module can run: residues with tangents modulo a prime, and many digits."""
