"""The verb of the papers, study, which the distribution discreet-studies provides."""

from __future__ import annotations

from collections.abc import Callable

from ..studies import load


def study() -> None:
    """Reproduce a paper: its figures and tables computed again, and a verdict for each of its claims.

    This verb is installed separately: `pip install discreet-studies`, or from a checkout `pip install -e studies`.
    """
    load("verb")


def verb() -> Callable[..., None] | None:
    """Return the verb of the installed distribution, or None."""
    try:
        command: Callable[..., None] = load("verb")
    except ImportError:  # missing or incompatible: the verb above raises the error when it is called
        return None
    return command
