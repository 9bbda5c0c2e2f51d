"""Pairs of checkpoints of which it is known whether they are one function.

What makes the second of the first is written from the formulas of the models alone, on the names and shapes that
``transformers`` gives their tensors, and shares no code with symgauge: it is the oracle for comparing.
"""
