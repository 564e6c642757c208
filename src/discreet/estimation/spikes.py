"""Spiky estimates: the maximum of the likelihood is a comb, though a smoother distribution fits the reports as well.

The maximum likelihood estimate of a smooth population has few values with probability and zeros between them: it
explains the chance bumps of the reports too. Its zeros then say nothing. Whether that is so is decided by an example.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..exact.arrays import FloatArray
from .algebra import single_threaded_blas
from .intervals import intervals
from .solvers.likelihood import Likelihood

#: Least share of the people at other values by which two estimates differ.
MIN_MOVED_SHARE = 0.1

#: Largest roughness of a smoother estimate, as a share: how far its values are from the mean of their neighbours.
MAX_ROUGHNESS = 0.7

#: Maximum number of updates: they restore what the reports determine, such as a share of zeros, and leave the rest
#: smooth.
MAX_RESTORING_UPDATES = 200

#: Level of the region in which a distribution fits as well, as in profile intervals.
FIT_LEVEL = 0.95

#: The warning about spikes, and what to do about them.
MEANING = (
    "Some bars are artefacts of maximum likelihood. The reports cannot tell neighbouring values apart: a smoother "
    "distribution fits them equally well."
)
ADVICE = 'Read sums over ranges, or use the method "auto" (in a terminal: leave --method out).'

#: The same for so few values that no method smooths them by default.
ADVICE_FOR_FEW = "Read sums over neighbouring values."


@dataclass(frozen=True)
class Spikes:
    """The finding whether an estimate is spiky, and the example that shows it.

    Attributes
    ----------
    moved
        The share of the people that a smoother distribution places at other values.
    roughness
        Its roughness over that of the estimate.
    deviance
        Twice the log-likelihood that it lacks; below ``allowed`` the reports cannot tell the two apart.
    allowed
        The chi-squared quantile of profile intervals.
    """

    moved: float
    roughness: float
    deviance: float
    allowed: float

    def __bool__(self) -> bool:
        return self.moved >= MIN_MOVED_SHARE and self.roughness <= MAX_ROUGHNESS and self.deviance <= self.allowed


def examine(likelihood: Likelihood, p: FloatArray) -> Spikes | None:
    """Compare an estimate with a smoother one: averaged with its neighbours, and updated until it fits as well.

    Fits as well is: the deviance ``2 N (l(p) - l(q))`` is within the chi-squared quantile of profile intervals. Spiky
    is: that q places at least a tenth of the people elsewhere, and its values differ clearly less from the mean of
    their neighbours. A population that really has few values is not called spiky where the reports tell them from
    their neighbours: the updates then undo the averaging.

    Returns
    -------
    Spikes or None
        None where values have no neighbours (labels), or the estimate is not a distribution.
    """
    space = likelihood.problem.truths
    around = space.neighbour_mean(p) if p.min() >= 0 else None
    if around is None:
        return None
    model, people = likelihood.model, likelihood.problem.people
    allowed = intervals.quantile(FIT_LEVEL, intervals.DEGREES) ** 2
    seen = model.q > 0  # far from all truths, a report that did not occur may have a chance of 0
    with single_threaded_blas(likelihood.problem.places):
        best = float(model.q[seen] @ np.log(model.forward(p)[seen]))
        q = (p + around) / 2
        for _ in range(MAX_RESTORING_UPDATES):
            u = model.forward(q)
            deviance = 2 * people * (best - float(model.q[seen] @ np.log(u[seen])))
            if deviance <= allowed:
                break
            q = q * model.backward(np.divide(model.q, u, out=np.zeros_like(u), where=seen))
            q /= q.sum()
    after = space.neighbour_mean(q)
    assert after is not None
    rough = float(np.abs(q - after).sum() / max(np.abs(p - around).sum(), 1e-300))
    return Spikes(float(np.abs(p - q).sum() / 2), rough, deviance, allowed)
