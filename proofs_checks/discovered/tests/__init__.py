"""Tests of the specimens."""
