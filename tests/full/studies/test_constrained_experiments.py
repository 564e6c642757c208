"""[C] figures 10 to 13: expectations against brute force, repetitions against expectations, claims."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import pairwise, product
from math import comb

import numpy as np
import pytest

import discreet as dc
from discreet import losses
from discreet_studies.constrained.named import named
from discreet_studies.experiments.small_groups import NAMES, group_counts, law_of, outcome
from discreet_studies.laws import binomial

#: One process draws the exhibits, and all tests look at them.
pytestmark = pytest.mark.xdist_group("study of experiments")

DATA = os.environ.get("DISCREET_DATA")
needs_data = pytest.mark.skipif(DATA is None and "CI" not in os.environ, reason="DISCREET_DATA names no folder")


@pytest.fixture(scope="module")
def found() -> dict[str, dc.StudyResult]:
    return {key: dc.study("constrained", key, quick=True) for key in ("10-visits", "11", "12", "13")}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("loss", "root"), [(losses.beyond(1), False), (losses.power(2), True)])
def test_an_expectation_is_the_sum_over_all_data_and_all_reports(name: str, loss, root: bool) -> None:
    """Every group of 3 people with one bit each, every report, in rationals."""
    n, p, alpha = 3, Fraction(1, 5), Fraction(2, 3)
    m = named(name, n, alpha)
    total = Fraction(0)
    for bits in product((0, 1), repeat=n):
        chance = p ** sum(bits) * (1 - p) ** (n - sum(bits))
        total += chance * sum(Fraction(m.probability(sum(bits), y)) * loss.exact(sum(bits), y) for y in range(n + 1))
    measured = outcome(m, loss, binomial(n, float(p)), [np.array([0, 1, 3])] * 2, seed=1, root=root).expected
    assert measured == pytest.approx(float(total) ** (0.5 if root else 1), rel=1e-12)


def test_the_binomial_is_the_binomial() -> None:
    assert binomial(5, 0.3) == pytest.approx([comb(5, k) * 0.3**k * 0.7 ** (5 - k) for k in range(6)])


def test_groups_follow_the_file_and_a_rest_is_left_out() -> None:
    bits = np.array([1, 1, 0, 0, 1, 1, 1])
    assert group_counts(bits, 3).tolist() == [2, 2] and law_of(group_counts(bits, 3), 3).tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("key", ["10-visits", "11", "12", "13"])
def test_repetitions_agree_with_expectations(key: str, found) -> None:
    """Nearly all means are within four standard errors; with noise of another mechanism (a control) they are not."""
    rows = [row for table in found[key].results[key].tables.values() for row in table]
    known = [row for row in rows if row["high"] > row["low"]]
    far = [abs(row["mean"] - row["expected"]) > 4 * (row["high"] - row["low"]) / 2 + 1e-9 for row in known]
    assert len(known) > 50 and np.mean(far) < 0.05
    control = [
        abs(row["mean"] - other["expected"]) > 4 * (row["high"] - row["low"]) / 2 + 1e-9
        for row, other in pairwise(known)
        if row["name"] == "EM" and other["name"] == "UM"
    ]
    assert np.mean(control) > 0.5


@pytest.mark.parametrize(
    ("key", "claim", "verdict"),
    [
        ("10-visits", "figure 10: UM does not depend on the data", "holds"),
        ("11", "figure 11: constrained in the middle", "holds"),
        ("11", "figure 11: GM worse than uniform", "holds"),
        ("11", "figure 11: EM is insensitive", "holds"),
        ("12", "figure 12: the margin grows", "does not hold"),
        ("12", "figure 12: GM worse than guessing", "holds"),
        ("12", "figure 12: EM on skewed data", "undecidable as worded"),
        ("13", "figure 13: larger groups", "holds"),
        ("13", "figure 13: GM and alpha", "holds"),
    ],
)
def test_claims_are_judged(key: str, claim: str, verdict: str, found) -> None:
    judged = {one.key: one.verdict.value for one in found[key].claims}
    assert judged[claim] == verdict


@needs_data
def test_figure_10_on_adult_says_where_counts_really_are() -> None:
    """The paper: "typically close to n/2". The shares are 24%, 33% and 30%."""
    found = dc.study("constrained", "10", quick=True)
    claims = {claim.key: claim for claim in found.claims}
    assert claims["figure 10: counts lie near n/2"].verdict.value == "does not hold"
    assert "high income 24.1%" in claims["figure 10: counts lie near n/2"].measured
    assert claims["figure 10: WM tracks UM"].verdict.value == "undecidable as worded"
    assert claims["figure 10: EM is best"].verdict.value == "holds with correction"
    targets = {row["target"] for row in found.results["10"].tables["wrong"]}
    assert targets == {"high income", "female", "under 30", "30 or under"}
