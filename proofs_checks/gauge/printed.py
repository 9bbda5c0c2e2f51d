"""Numbers as the source prints them, for the checks; symgauge.experiments.gauge.printed holds them."""

from symgauge.experiments.gauge.printed import *  # noqa: F403
