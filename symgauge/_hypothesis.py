"""What Hypothesis runs when it starts: ``st.from_type(Architecture)`` then draws small architectures."""

from __future__ import annotations


def _hypothesis_setup_hook() -> None:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy

    from symgauge.architecture import Architecture

    def small(_: type[Architecture]) -> SearchStrategy[Architecture]:
        from symgauge.strategies import architectures  # imports torch, so only when one is asked for

        return architectures()

    st.register_type_strategy(Architecture, small)
