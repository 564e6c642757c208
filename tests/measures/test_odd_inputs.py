"""Odd but legal inputs: public functions answer or refuse in their own words, and end."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import DiscreetError, InvalidInput, WrongType
from support.refusals import refused

M = dc.geometric(4, epsilon=1)
SPACE = dc.Counts(4)
ODD = [
    [], [1], [0] * 5, [1, 0, 0, 0, 0], [math.nan] * 5, [math.inf, 0, 0, 0, 0], [1e308] * 5, [1e-320] * 5,
    [10**400, 0, 0, 0, 0], [Fraction(-(10**400), 3), 0, 0, 0, 0],
    [-1, 2, 0, 0, 0], ["1/2", "1/2", 0, 0, 0], [[0.2] * 5], "abc", {0: 1}, [True] * 5, [1 + 0j, 0, 0, 0, 0],
]  # fmt: skip

CALLS = {
    "kantorovich": lambda odd: dc.kantorovich([0.2] * 5, odd, SPACE),
    "remap": lambda odd: dc.remap(M, "L1", odd),
    "cost": lambda odd: dc.cost(M, "L1", odd),
    "design": lambda odd: dc.design(4, epsilon=1, loss="L1", prior=odd),
    "compare": lambda odd: dc.compare(4, epsilon=1, families=["GM"], prior=odd),
    "calibrate": lambda odd: dc.calibrate("geometric", SPACE, distance=1, prior=odd),
    "forward": M.forward,
    "backward": M.backward,
    "estimate": lambda odd: dc.estimate(odd, M, method="mle"),
    "start": lambda odd: dc.estimate([1, 2, 3, 4, 9], M, method="ibu", start=odd, iterations=5),
    "release": M.release,
    "exponential": lambda odd: dc.exponential(odd, epsilon=1),
    "curve": dc.verify(M).curve,
    "interval": lambda odd: dc.estimate([1, 2, 3, 4, 9], M).interval(odd),
    "matrix": lambda odd: dc.verify([odd, [0.2] * 5]),
    "certified matrix": lambda odd: dc.from_matrix([odd, [0.2] * 5], privacy=1),
    "guess": lambda odd: dc.plan_collection(SPACE, target_error="±9 points", epsilon=3, guess=odd),
    "places": lambda odd: dc.Grid(2, 2, cell=1).locate(odd, odd),
}

#: One argument that is a single number, beside whatever else the call needs.
NUMBERS = {
    "cell": lambda odd: dc.Grid(2, 2, cell=odd).centre(0),
    "cell of a box": lambda odd: dc.Grid.from_box(48.8, 2.25, 48.92, 2.45, cell=odd),
    "side of a box": lambda odd: dc.Grid.from_box(48.8, 2.25, odd, 2.45, cell=1000),
    "place": lambda odd: dc.Grid(2, 2, cell=1).locate(odd, 0.5),
    "stay": lambda odd: dc.bounded_noise(epsilon=1, stay=odd, reach=3),
    "stay of a p-table": lambda odd: dc.design_ptable(epsilon=2, reach=2, stay=odd, keys=64),
    "variance": lambda odd: dc.bounded_noise(epsilon="7/10", reach=4, variance=odd),
    "sensitivity": lambda odd: dc.exponential([[0, 1], [1, 0]], epsilon=1, sensitivity=odd),
    "score": lambda odd: dc.exponential([[0, odd], [1, 0]], epsilon=1),
    "privacy": lambda odd: dc.from_matrix([["1/2", "1/2"], ["1/4", "3/4"]], privacy=odd),
    "level": lambda odd: dc.estimate([1, 2, 3, 4, 9], M).interval("mean", level=odd),
    "quantile": lambda odd: dc.estimate([1, 2, 3, 4, 9], M).quantile(odd),
    "design": lambda odd: dc.design(odd, alpha="1/2"),
    "choose": lambda odd: dc.choose(odd, alpha="1/2"),
    "survey": lambda odd: dc.plan_collection(dc.Counts(odd), target_error="±9 points", epsilon=1),
    "verify": dc.verify,
    "explain": dc.explain,
    "labels": dc.Labels,
}
ODD_NUMBERS = [
    10**400, -(10**400), Fraction(1, 10**400), Fraction(10**400, 3), 10**25, 2**62 - 1, 1e308, 5e-324, math.nan,
    math.inf, -1, 0, "abc", "1e-400", None, True, {}, 1j,
]  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:25])
def test_odd_numbers_are_used_or_refused_in_words(name, odd):
    """Warnings are errors here, so an overflow fails too."""
    with suppress(DiscreetError):
        CALLS[name](odd)


@pytest.mark.parametrize("name", NUMBERS)
def test_an_odd_number_is_used_or_refused_in_words(name):
    """Also those that no double can hold, and those for which there is no memory."""
    crashed = {}
    for odd in ODD_NUMBERS:
        try:
            with suppress(DiscreetError):
                NUMBERS[name](odd)
        except Exception as problem:
            crashed[repr(odd)[:25]] = repr(problem)[:100]
    assert crashed == {}


def test_texts_are_not_numbers_of_a_distribution():
    for call in (M.forward, M.backward):
        with refused(WrongType):
            call("abc")


def test_masses_add_up_to_a_double():
    with refused(InvalidInput):
        dc.kantorovich([1e308] * 5, [1e308] * 5, SPACE)


@pytest.mark.parametrize("huge", [1e6, 1e308])
def test_a_huge_epsilon_is_decided_at_once(huge):
    """e^epsilon is not written out where the ratio is far below it, or is infinite."""
    verdict = dc.verify(M)
    assert verdict.holds(epsilon=huge) and verdict.delta(huge) == 0
    apart = dc.verify([["1/2", "1/2"], ["1/4", "3/4"], [0, 1]])
    assert not apart.holds(epsilon=huge) and apart.holds(epsilon=huge, delta="1/2")
    assert apart.delta(huge) == pytest.approx(0.25) and not apart.holds(epsilon=huge, delta="1/5")
    with refused(InvalidInput, "p"):
        dc.losses.power(huge)
