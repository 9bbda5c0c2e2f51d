"""Arithmetics in which an ordinary torch module can run: residues modulo a prime with a chain rule, and many digits."""
