"""Exact fibre dimensions: probes, ranks over a finite field, and the accounting of known symmetries."""
