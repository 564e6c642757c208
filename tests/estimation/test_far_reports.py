"""Reports far from every truth keep their likelihood, and spoil nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput
from support.refusals import refused


def test_the_log_likelihood_of_reports_beyond_the_range_is_theirs() -> None:
    m = dc.two_sided_geometric(epsilon="0.5")
    counts = {-4: 3, 0: 10, 2: 20, 3: 9, 5: 4}
    e = dc.estimate(counts, m, over=dc.Counts(3), method="mle")
    chances = [sum(e.distribution[i] * float(m.probability(i, j)) for i in range(4)) for j in counts]
    assert e.log_likelihood == pytest.approx(np.array(list(counts.values())) @ np.log(chances), rel=1e-12)
    assert e.trace[-1].log_likelihood == pytest.approx(e.log_likelihood, rel=1e-9)


def test_a_report_that_is_hardly_possible_does_not_spoil_the_others() -> None:
    """P(60 | at most 5) is 1e-165: shares over chances overflow when they are squared."""
    e = dc.estimate({60: 1, 1: 500}, dc.discrete_gaussian(sigma2=4), over=dc.Counts(5), method="mle")
    assert e.converged and e.distribution[1] > 0.9


def test_a_report_far_out_is_not_called_impossible_on_a_long_range() -> None:
    """P(1800 | 1500) is e^-112: nothing to a Fourier transform, and not zero."""
    n, sigma2 = 1500, 400
    m = dc.discrete_gaussian(sigma2=sigma2)
    reports = np.append(m.simulate(np.random.default_rng(1).integers(0, n + 1, 3000), seed=1), n + 300)
    e = dc.estimate(reports=reports, mechanism=m, over=dc.Counts(n), method="mle")
    seen, counts = np.unique(reports, return_counts=True)
    z = np.arange(-400, 401)
    A = np.exp(-((seen - np.arange(n + 1)[:, None]) ** 2) / (2 * sigma2)) / np.exp(-z * z / (2 * sigma2)).sum()
    u = e.distribution @ A
    assert e.log_likelihood == pytest.approx(counts @ np.log(u), rel=1e-9)
    assert e.converged and math.log((A @ (counts / counts.sum() / u)).max()) <= 2 * e.tolerance


def test_a_report_without_measure_takes_no_memory() -> None:
    with refused(InvalidInput, "over"):
        dc.estimate({-(10**10): 1, 1: 5}, dc.discrete_gaussian(sigma2=4), over=dc.Counts(5), method="mle")
