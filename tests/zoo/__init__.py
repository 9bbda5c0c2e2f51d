"""Tests of the zoo: every family against the class of transformers, and a family that is added."""
