"""Numbers as the source prints them, for the checks; proofs_checks.gauge.experiments.printed holds them."""

from proofs_checks.gauge.experiments.printed import *  # noqa: F403
