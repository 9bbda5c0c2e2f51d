"""Checks of the short version of the gauge paper."""
