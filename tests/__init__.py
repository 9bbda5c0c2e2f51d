"""Tests of the library itself."""
