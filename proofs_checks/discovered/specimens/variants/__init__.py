"""Attention variants of the literature as a user would write them, each with its sizes, its inputs, and what is free in
it by hand.

A file has the module, ``factory(**sizes) -> (module, inputs)`` and ``by_hand(**sizes) -> {family: directions}``: a
count with pencil and paper that nothing of the library goes into, for sizes within the bounds that its docstring names.
"""
