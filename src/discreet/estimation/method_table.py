"""The methods of ``dc.estimate``, described once: what they are called, which arguments they take, what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    smooths
        True if it fits the reports less well than the maximum of the likelihood on purpose.
    """

    title: str
    takes: tuple[str, ...] = ()
    unsmoothed: bool = False
    smooths: bool = False


#: The methods by their names; ``methods.estimate`` runs them.
METHODS: Mapping[str, MethodInfo] = {
    "auto": MethodInfo("chosen by what the values are", ("seed",)),
    "empirical-bayes": MethodInfo("smoothed as far as the reports allow (empirical Bayes)", smooths=True),
    "mle": MethodInfo("maximum likelihood", unsmoothed=True),
    "smoothed": MethodInfo("iterative Bayesian updates, stopped early by cross-validation", ("seed",), smooths=True),
    "ibu": MethodInfo("iterative Bayesian updates", ("iterations", "start"), unsmoothed=True),
    "inverse": MethodInfo("inverse of the mechanism"),
    "ems": MethodInfo("iterative Bayesian updates with averages of neighbours (EMS)", smooths=True),
    "g-model": MethodInfo("a spline for the log of the distribution (Efron's g-model)", smooths=True),
    "wavelet": MethodInfo("wavelets that exceed their noise", smooths=True),
}

_CUSTOM = "custom:"


def custom_name(function: Callable[..., object]) -> str:
    """Return the name of a method of one's own, which no named method has."""
    return f"{_CUSTOM}{getattr(function, '__name__', type(function).__name__)}"


def method_info(name: str) -> MethodInfo:
    """Return the description of a method, named or of one's own."""
    if name.startswith(_CUSTOM):
        return MethodInfo(f"a function of your own ({name.removeprefix(_CUSTOM)})")
    return METHODS[name]
