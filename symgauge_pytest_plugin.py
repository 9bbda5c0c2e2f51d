"""The pytest entry point of symgauge. Thin on purpose: loaded in every pytest session, it imports nothing heavy.

Options: --ledger FILE writes every claim with its evidence and verdict as JSON, --claims-report DIR pages; --claims
SELECT runs those claims only; --symgauge-profile NAME (or SYMGAUGE_PROFILE) sets the sampling profile. Fixture:
`evidence`. Marker: `claim`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from symgauge.claims import EvidenceLog


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("symgauge", "claims of a source, decided by evidence")
    group.addoption("--ledger", metavar="FILE", help="write all claims with evidence and verdicts to FILE as JSON")
    group.addoption("--claims-report", metavar="DIR", help="bring the reports in DIR up to date, as verify does")
    group.addoption(
        "--claims", metavar="SELECT", action="append", default=[], help="run only claims of this id, source or glob"
    )
    group.addoption("--symgauge-profile", metavar="NAME", help="sampling profile: dev, ci (default) or thorough")
    group.addoption("--symgauge-events", metavar="FILE", help="append one JSON line to FILE as each claim is decided")


def pytest_configure(config: pytest.Config) -> None:
    from symgauge.pytest_support import ClaimsPlugin

    config.addinivalue_line("markers", "claim(id): the test decides this claim; set by @symgauge.claims.checks")
    config.pluginmanager.register(ClaimsPlugin(config), "symgauge-claims")


@pytest.fixture
def evidence(request: pytest.FixtureRequest) -> EvidenceLog:
    """Where a check writes down what it finds; see symgauge.claims.EvidenceLog."""
    from symgauge.pytest_support import evidence_log

    return evidence_log(request.node)
