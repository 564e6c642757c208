"""The methods of ``dc.estimate``, described once: what they are called, which arguments they take, what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MethodInfo:
    """A method of ``dc.estimate``.

    Attributes
    ----------
    title
        A few words that describe it.
    takes
        The arguments of ``dc.estimate`` that only some methods take.
    unsmoothed
        True if it climbs the likelihood without smoothing, so that an estimate can be a comb.
    """

    title: str
    takes: tuple[str, ...] = ()
    unsmoothed: bool = False


#: The methods by their names; ``methods.estimate`` runs them.
METHODS: Mapping[str, MethodInfo] = {
    "auto": MethodInfo("chosen by what the values are", ("seed",)),
    "empirical-bayes": MethodInfo("smoothed as far as the reports allow (empirical Bayes)"),
    "mle": MethodInfo("maximum likelihood", unsmoothed=True),
    "smoothed": MethodInfo("iterative Bayesian updates, stopped early by cross-validation", ("seed",)),
    "ibu": MethodInfo("iterative Bayesian updates", ("iterations", "start"), unsmoothed=True),
    "inverse": MethodInfo("inverse of the mechanism"),
}
