"""Numbers as the source prints them; ``experiments.printed`` holds those that experiments need too."""

from proofs_checks.manifolds.experiments.printed import *  # noqa: F403

PEAK = 14  # caption of Figure 5: exec / random, early
SEEDS = {"3.2": 20, "caption of Figure 1": 5, "code (train.py)": 2, "code of the commutators": 1}
README_DIMENSION = (2, 3)
BASELINE_PLANE = 60  # K: 3 components of 4 matrices in 5 layers
OPTIMIZER = {"3.2": "SGD, rate 0.001, batch 64", "code": "AdamW, rate 0.0003, batch 128"}
LENGTH = {"3.1": 32, "code": 16}
MARKERS = {"3.1": (1, 6), "code": (1, 4)}
INTERVAL = {"3.2": 100, "code": 500}
