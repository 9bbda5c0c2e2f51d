"""Running the experiments of sources again, and keeping what they give; see symgauge.experiments.suite."""
