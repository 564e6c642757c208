"""What the guarantee says in numbers: each is worked out here once more, without the code that says it."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.release.noise.cells import cell_noise
from discreet.release.noise.margins import total

BY_JOB = "SELECT job, COUNT(*) FROM staff GROUP BY job"
BY_SITE = "SELECT site, job, COUNT(*) FROM staff GROUP BY site, job"


def sentence(plan, begins: str) -> str:
    (text,) = (text for text in plan.guarantee if text.startswith(begins))
    return text


# ------------------------------------------------------------------------------------------------ several rows of one


def gaussian_delta(sigma2: Fraction, shift: int, epsilon: float) -> float:
    """delta of the discrete Gaussian and itself moved by ``shift``, from its definition."""
    z = np.arange(-400, 401)
    law = np.exp(-(z**2) / (2 * float(sigma2)))
    law /= law.sum()
    moved = np.exp(-((z - shift) ** 2) / (2 * float(sigma2))) / np.exp(-(z**2) / (2 * float(sigma2))).sum()
    return float(np.maximum(moved - math.exp(epsilon) * law, 0).sum())


def test_somebody_with_several_rows_has_a_larger_delta_too():
    """Discrete Gaussian noise at (1, 1e-6) has 3e-6, 3.2e-5, 4.5e-4 for 2, 5, 10 rows; what is stated holds for all."""
    plan = dc.plan_release(
        "SELECT COUNT(*) FROM visits", data="visits", unit="row", epsilon=1, delta="1e-6", mechanism="discrete-gaussian"
    )
    text = sentence(plan, "Someone with k rows")
    stated = {int(k): float(delta) for delta, k in re.findall(r"([\d.e-]+) for k = (\d+)", text)}
    delta = float(plan.cost.delta)
    general = {k: delta * (math.exp(k) - 1) / (math.e - 1) for k in (2, 5, 10)}
    assert stated.keys() == general.keys()
    for k, value in general.items():
        assert value <= stated[k] <= value * 1.01
    assert [float(f"{value:.2g}") for value in general.values()] == [3.7e-6, 8.5e-5, 0.013]
    sigma2 = Fraction(plan.tables[0].noise.mechanisms[0].parameters["sigma2"])
    exact = [gaussian_delta(sigma2, k, k) for k in (1, 2, 5, 10)]
    assert exact[0] == pytest.approx(delta, rel=1e-6)
    assert [float(f"{value:.1g}") for value in exact[1:]] == [3e-6, 3e-5, 4e-4]
    assert all(value <= stated[k] for k, value in zip((2, 5, 10), exact[1:], strict=True))
    assert "times this epsilon." in sentence(
        dc.plan_release("SELECT COUNT(*) FROM visits", data="visits", unit="row", epsilon=1), "Someone with k rows"
    )


def test_beside_discovery_many_rows_have_no_guarantee():
    """Somebody with 2D + 1 rows is named for certain, which no delta below 1 allows."""
    plan = dc.plan_release(BY_JOB, data="staff", unit="row", one_row_each=True, discover="job", epsilon=1, delta="1e-8")
    named = sentence(plan, "This rests on nobody having more than one row.")
    rows = int(re.search(r"with (\d+) rows", named)[1])
    delta = float(plan.cost.delta)
    assert delta * (math.exp(rows) - 1) / (math.e - 1) > 1 and "named for certain" in named
    assert sentence(plan, "Someone with k rows").endswith("With a large k nothing is guaranteed.")


# ------------------------------------------------------------------------------------------------ values of one person


@pytest.mark.parametrize(
    ("question", "columns", "domain", "groups", "cells"),
    [
        (BY_JOB, "job", None, 2, 1),
        (BY_SITE, "job", ["site=1,2,3"], 1, 1),
        (BY_SITE, "job", ["site=1,2,3"], 2, 2),
        (BY_SITE, "job", ["site=1,2"], 5, 2),
        (BY_SITE, ["site", "job"], None, 4, 4),
    ],
)
def test_a_value_of_one_person_may_stand_in_several_cells(question, columns, domain, groups, cells):
    """Each of them is a draw of its own: with one declared column and two groups, twice as many chances to be named."""
    plan = dc.plan_release(
        question, data="staff", unit="person", max_groups=groups, discover=columns, domain=domain, epsilon=1,
        delta="1e-3",
    )  # fmt: skip
    text = sentence(plan, "A value that only one `person` has")
    noise = plan.tables[0].noise
    named = 1 - (1 - noise.shift_law.float_tail(noise.reach)) ** cells
    stated = float(re.search(r"probability at most ([\d.e-]+\d)", text)[1])
    assert named <= stated <= named * 1.01
    assert ("draws of one `person`" in text) == (cells < groups)


# ------------------------------------------------------------------------------------------------ intervals added up


def test_the_ends_of_intervals_added_up_are_no_interval_of_the_sum():
    """Explicit fair noise, two cells: the ends added up contain the sum 90% of the time, the total's interval 95%."""
    size, level = 20, Fraction(19, 20)
    reports = np.arange(size + 1)
    rows = np.array(dc.explicit_fair(size, epsilon=1).matrix, float)
    low, high = cell_noise("explicit-fair", epsilon=1, sizes=[size] * reports.size).intervals(reports, level)
    pair = cell_noise("explicit-fair", epsilon=1, sizes=[size, size])
    added, whole = 0.0, 0.0
    for a in reports:
        for b in reports:
            probability = rows[0, a] * rows[1, b]
            added += probability * (low[a] + low[b] <= 1 <= high[a] + high[b])
            found = total([a, b], pair, None, np.full(2, True), level)
            whole += probability * (found.low <= 1 <= found.high)
    assert added < 0.91 < 0.95 <= whole
