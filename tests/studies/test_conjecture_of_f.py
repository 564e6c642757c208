"""[F]: the inverse of G in fractions, and where the errors of an estimate lie."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet_studies.reconstruction import spread
from discreet_studies.reconstruction.spread import (
    correlations,
    error_covariance,
    inverse,
    is_inverse,
    running_deviations,
    shuffled_distance,
)
from discreet_studies.study import Setting

POPULATION = np.array([0.1, 0.4, 0.3, 0.15, 0.05])


def test_another_inverse_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_inverse(4, Fraction(2, 3))
    monkeypatch.setattr(spread, "inverse", lambda n, alpha: inverse(n, alpha + Fraction(1, 100)))
    assert not is_inverse(4, Fraction(2, 3))


@pytest.mark.parametrize("made", [dc.geometric(4, epsilon=1), dc.randomized_response(5, epsilon=1)])
def test_the_exact_covariance_is_that_of_many_surveys(made: dc.Mechanism) -> None:
    people, surveys = 2_000, 20_000
    counts = np.random.default_rng(3).multinomial(people, POPULATION @ made.matrix, size=surveys)
    errors = np.linalg.solve(made.matrix.T, (counts / people).T).T - POPULATION
    measured = people * np.cov(errors.T)
    exact = error_covariance(made, POPULATION)
    assert measured == pytest.approx(exact, abs=0.05 * float(np.abs(exact).max()))
    other = error_covariance(dc.geometric(4, epsilon=2), POPULATION)  # the control
    assert measured != pytest.approx(other, abs=0.05 * float(np.abs(exact).max()))


def test_exchangeable_errors_are_as_they_were_shuffled() -> None:
    size = 6
    covariance = np.eye(size) - 1 / size
    actual, shuffled = running_deviations(covariance)
    assert actual == pytest.approx(shuffled) and correlations(covariance) == pytest.approx([-1 / (size - 1)] * 5)


def test_shuffled_errors_have_the_deviation_of_the_formula() -> None:
    errors = np.array([1.0, -1.0, 0.5, -0.5, 0.25, -0.25])
    rng = np.random.default_rng(5)
    sums = np.array([np.cumsum(rng.permutation(errors))[:-1] for _ in range(40_000)])
    terms = np.arange(1, 6)
    expected = np.sqrt((errors**2).mean() * terms * (6 - terms) / 5)
    assert sums.std(axis=0) == pytest.approx(expected, rel=0.03)
    assert shuffled_distance(errors, rng, 4_000) == pytest.approx(np.abs(sums).sum(axis=1).mean(), rel=0.05)


def test_the_conjecture_and_proposition_2_have_their_verdicts() -> None:
    found = [
        claim for draw in (spread.draw_invertible, spread.draw_conjecture) for claim in draw(Setting(quick=True)).claims
    ]
    assert {claim.key: claim.verdict.value for claim in found} == {
        "proposition 2": "holds with correction",
        "conjecture: errors all over the range": "holds",
        "conjecture: why the distance is larger": "holds",
    }
