"""Tests of what this source's checks and experiments are made of."""
