"""Tests of what this source's checks and page are made of."""
