"""Torch modules that compute what an architecture describes, and adapters for other people's modules."""
