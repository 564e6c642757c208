"""The three mechanisms of [A] on the square, at an epsilon or calibrated."""

from __future__ import annotations

from functools import lru_cache

from discreet.exact.arrays import FloatArray
from discreet.exact.lattice import Border
from discreet.mechanism import Mechanism
from discreet.mechanisms.planar import planar_geometric, planar_laplace
from discreet.mechanisms.response import randomized_response
from discreet.optimise.improve.calibration import Calibration, calibrate
from discreet.utility import expected_loss

from .square import GRID

RESPONSE, GEOMETRIC, LAPLACE = "k-RR", "geometric", "Laplace"
NAMES = (RESPONSE, GEOMETRIC, LAPLACE)

#: The expected distance that [A] calibrates to, in metres, and the epsilons it prints (per metre but for k-RR).
DISTANCE = 450
PRINTED = {RESPONSE: 8.24797, GEOMETRIC: 0.00398441, LAPLACE: 0.00404249}

_PLANAR = {GEOMETRIC: planar_geometric, LAPLACE: planar_laplace}

#: What the paper leaves open about its mechanisms.
CHOICES = ('Reports outside the square are excluded (border="normalise"), as the paper\'s normalization factor says.',)


def at_epsilon(name: str, epsilon: float, border: Border = "normalise") -> Mechanism:
    """Return a mechanism on the square."""
    if name == RESPONSE:
        return randomized_response(GRID, epsilon=epsilon)
    return _PLANAR[name](GRID, epsilon=epsilon, border=border)


def at_distance(name: str, distribution: FloatArray) -> Calibration:
    """Return a mechanism whose reports lie 450 m from the truth on average over a distribution ([A] (2))."""
    return _calibrated(name, tuple(distribution.tolist()))


@lru_cache(maxsize=len(NAMES))
def _calibrated(name: str, prior: tuple[float, ...]) -> Calibration:
    """Return the mechanism, cached: the calibration takes seconds, and two exhibits need it."""
    if name == RESPONSE:
        return calibrate(randomized_response, GRID, distance=DISTANCE, prior=list(prior))
    return calibrate(_PLANAR[name], GRID, distance=DISTANCE, prior=list(prior), border="normalise")


def distances_by_cell(mechanism: Mechanism) -> FloatArray:
    """Return the expected distance between truth and report for each true cell, in metres."""
    return expected_loss(mechanism, "L1")
