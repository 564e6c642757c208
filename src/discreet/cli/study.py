"""The verb of the papers: study. It comes with the distribution discreet-studies."""

from __future__ import annotations

from collections.abc import Callable

from ..studies import load


def study() -> None:
    """Reproduce a paper: its figures and tables computed again, and a verdict for each of its claims.

    This verb is installed apart: `pip install discreet-studies`, or from a checkout `pip install -e studies`.
    """
    load("verb")


def verb() -> Callable[..., None] | None:
    """Return the verb that the installed distribution brings, or None."""
    try:
        installed: Callable[..., None] = load("verb")
    except ImportError:  # it is not there, or does not fit: the verb above says so when it is asked for
        return None
    return installed
