"""Experiments of the sources, run again. A suite is a subpackage of this package; see symgauge.experiments.suite."""
