"""Tests of what the checks of several sources use."""
