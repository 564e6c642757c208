"""The studies of the papers: a separate distribution, ``discreet-studies``, found by its entry points."""

from __future__ import annotations

from typing import Any

from .errors import MissingExtra

#: Group of entry points: the public names and the verb of the distribution.
GROUP = "discreet.studies"


def load(name: str) -> Any:
    """Load one of the public names, or the verb of the command line.

    Raises
    ------
    MissingExtra
        If the distribution is not installed.
    """
    from importlib.metadata import entry_points  # a tenth of a second that only studies need

    for entry in entry_points(group=GROUP, name=name):
        return entry.load()
    raise MissingExtra(
        "discreet-studies", command="pip install discreet-studies (from a checkout: pip install -e studies)"
    )
