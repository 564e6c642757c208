"""Promises over whole ranges, where the quick tests take a few: run by ``make test-long``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discreet as dc
from discreet.exact.rationals import at_most_exp

ALPHAS = ["1/100", "1/3", "1/2", "62/100", "9/10", "10/11", "995/1000"]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_explicit_fair_has_all_seven_properties_for_n_to_60(alpha: str) -> None:
    """[C] eq. (16) with the normaliser for even and odd n; decided in integers."""
    for n in range(1, 61):
        m = dc.explicit_fair(n, alpha=alpha)
        assert all(result.holds for result in dc.check(m).values()), (n, alpha)
        assert m.certificate.ratio == 1 / Fraction(alpha)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_lemmas_on_the_geometric_mechanism_hold_for_n_to_60(alpha: str) -> None:
    """[C] lemma 2: WH iff n >= 2a/(1-a). [C] lemma 3: CM (and CH) iff a <= 1/2, for n >= 2."""
    a = Fraction(alpha)
    for n in range(2, 61):
        found = dc.check(dc.geometric(n, alpha=a), ["WH", "CM", "CH", "S", "RM"])
        assert found["WH"].holds == (n >= 2 * a / (1 - a))
        assert found["CM"].holds == found["CH"].holds == (a <= Fraction(1, 2))
        assert found["S"].holds and found["RM"].holds


@pytest.mark.parametrize("epsilon", ["1e-6", "0.001", "0.05", "0.3", "1", "2.5", "7", "20", "50"])
def test_no_family_exceeds_the_epsilon_asked_for(epsilon: str) -> None:
    """Exactly: the largest ratio is at most e^epsilon, compared with rational bounds."""
    asked = Fraction(epsilon)
    for n in (1, 2, 3, 4, 7, 10, 31, 100, 300):
        made = [
            dc.geometric(n, epsilon=asked),
            dc.explicit_fair(n, epsilon=asked),
            dc.rounded_laplace(n, epsilon=asked),
        ]
        for m in made:
            assert at_most_exp(dc.verify(m).ratio, asked), m
        response = dc.randomized_response(n + 1, epsilon=asked)
        assert at_most_exp(dc.verify(response, "local").ratio, asked)
    counts = np.arange(31)
    scores = -abs(counts[:, None] - counts[None, :])
    assert at_most_exp(dc.verify(dc.exponential(scores, epsilon=asked)).ratio, asked)


SAMPLED = {
    "geometric": (dc.geometric(100, epsilon=1), dc.geometric(100, epsilon="1.003")),
    "explicit fair": (dc.explicit_fair(100, epsilon=1), dc.explicit_fair(100, epsilon="1.003")),
    "response": (dc.randomized_response(101, epsilon=3), dc.randomized_response(101, epsilon="3.01")),
    "rounded Laplace": (dc.rounded_laplace(100, epsilon=1), dc.rounded_laplace(100, epsilon="1.003")),
    "map": (
        dc.planar_geometric(dc.Grid(10, 11), epsilon=1),
        dc.planar_geometric(dc.Grid(10, 11), epsilon="1.003"),
    ),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_twenty_million_draws_follow_the_law_and_not_one_a_third_of_a_percent_off(name: str) -> None:
    true, other = SAMPLED[name]
    reports = true.simulate(np.full(20_000_000, 40), seed=20)
    seen = np.bincount(reports, minlength=true.outputs.size)

    def p_value(m: dc.Mechanism) -> float:
        expected = m.matrix[40] * seen.sum()
        keep = expected >= 20
        statistic = ((seen[keep] - expected[keep]) ** 2 / expected[keep]).sum()
        return float(stats.chi2.sf(statistic, keep.sum() - 1))

    assert p_value(true) > 1e-4
    assert p_value(other) < 1e-9


@pytest.mark.parametrize("border", ["remap", "normalise"])
@pytest.mark.parametrize("family", [dc.planar_geometric, dc.planar_laplace])
def test_a_large_map_is_proved_without_its_table(family, border: str) -> None:
    m = family(dc.Grid(200, 150, cell=100.0), epsilon="0.005", border=border)
    limit = 0.005 if border == "remap" else 0.01
    assert 0.0049 < m.certificate.epsilon <= limit
    uniform = np.full(m.inputs.size, 1 / m.inputs.size)
    assert m.forward(uniform).sum() == pytest.approx(1, abs=1e-9)
    assert m.backward(np.ones(m.outputs.size)) == pytest.approx(1, abs=1e-9)


def test_the_adult_data_can_be_counted_with_noise(outside_data) -> None:
    """Real columns of tens of thousands of people: released counts are close to the true ones, and integers."""
    ages = pd.read_csv(outside_data / "adult.csv.gz")["age"]
    counts = ages.clip(upper=90).value_counts().reindex(range(17, 91), fill_value=0)
    m = dc.two_sided_geometric(epsilon=1)
    noisy = m.release(counts)
    assert noisy.dtype == np.int64
    errors = np.abs(noisy - counts.to_numpy())
    assert errors.sum() > 0 and errors.max() < 60  # P(|Z| > 60) < 1e-25 at epsilon 1
