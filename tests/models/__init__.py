"""Tests of the reference model, the adapters and the presets."""
