"""Tests of what this source's checks and its command are made of."""
