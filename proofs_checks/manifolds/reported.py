"""Numbers that the source reports: its text (version 2) and its code. At hand is its abstract."""

from pathlib import Path

from symgauge.claims.source_text import text_of

TEXT = text_of(Path(__file__).parent)
ABSTRACT = TEXT.between(
    "Abstract: We investigate the geometric structure", "overparameterization in neural network learning"
)

DIMENSION = (3, 4)  # abstract
TEXT.quote("low-dimensional execution manifolds of dimension $3$--$4$")
DIMENSION_OF_MATRICES = (3, 5)  # 4.1, Figure 1
EARLY, LATE = 9.7, 2.1  # 4.3, ρ_exec / ρ_rand, medians
SHARE = (0.02, 0.13)  # 4.3, ρ_exec
PERPENDICULAR = 0.92  # abstract
TEXT.quote(r"$>92\%$ of non-commutativity confined to orthogonal staging directions")
DEFECT = (100, 175)  # caption of Figure 3
SNAPSHOTS = 40  # code: every 500 of 20,000 steps
COMPONENTS = 3  # code: per matrix
LEARNING_STEP = 1e-3  # 3.3.2 and code: of the commutators
SAMPLES = 9  # code: commutators per point, the one of median defect counts
PARAMETERS, DEAD, LIVE, ATTENTION = 1_026_184, 658_560, 367_624, 327_680  # of the model the code makes
PEAK = 14  # caption of Figure 5: exec / random, early
SEEDS = {"3.2": 20, "caption of Figure 1": 5, "code (train.py)": 2, "code of the commutators": 1}
README_DIMENSION = (2, 3)
BASELINE_PLANE = 60  # K: 3 components of 4 matrices in 5 layers
AUTOENCODER = {"3.4": "ReLU, L1 penalty", "code": "largest 16 of 256, no penalty"}
ABLATION_MOST = {"4.4": "early", "README": "mid-training"}
ABLATION_SIZE = {"4.4": "small", "README": "small"}
FILES_NEEDED = ("bubble_exp_comm.py", "helpers.py", "runs.pt")  # code: imported or read, and not written by it
FILES = (
    "README.md", "analysis_alignment.py", "analysis_subspace.py", "bubble_exp_comm_v2.py", "experiment_full.py",
    "helpers.py", "paper.tex", "references.bib", "train.py",
)  # fmt: skip
"""The repository's files in all commits, but for the license and pictures."""
OPTIMIZER = {"3.2": "SGD, rate 0.001, batch 64", "code": "AdamW, rate 0.0003, batch 128"}
LENGTH = {"3.1": 32, "code": 16}
INTERVAL = {"3.2": 100, "code": 500}
