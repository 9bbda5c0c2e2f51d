"""The idealized paper's claims, each beside its check."""
