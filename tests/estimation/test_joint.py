"""Several answers of one person: the joint distribution, its margins, and how answers go together."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from support.refusals import refused

SMOKES = dc.randomized_response(["smokes", "does not"], epsilon=1.5)
ILL = dc.randomized_response(["ill", "well"], epsilon=1.5)
VISITS = dc.geometric(6, epsilon=1)
TRUTH = np.array([[0.12, 0.18], [0.10, 0.60]])


def survey(m: dc.Mechanism, p: np.ndarray, people: int, rng: np.random.Generator) -> dc.Estimate:
    chances = m.forward(p.ravel())
    return dc.estimate(rng.multinomial(people, chances / chances.sum()), m)


def test_the_joint_distribution_is_the_maximum_of_the_likelihood() -> None:
    m = SMOKES * VISITS
    rng = np.random.default_rng(2)
    counts = rng.multinomial(3000, m.forward(rng.dirichlet(np.ones(14))))
    e, plain = dc.estimate(counts, m), dc.estimate(counts, m.matrix, method="mle")
    assert e.converged and e.distribution == pytest.approx(plain.distribution, abs=1e-6)
    for statistic in (np.arange(14.0), np.eye(14)[3]):
        ours, theirs = e.interval(statistic), plain.interval(statistic)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-4)


def test_counts_and_reports_may_come_in_any_form_of_tuples() -> None:
    m = SMOKES * ILL
    reports = m.simulate([("smokes", "ill"), ("does not", "well")] * 200, seed=4)
    counts = np.bincount(m.outputs.indices(reports), minlength=4)
    frame = pd.DataFrame(reports.tolist(), columns=["a", "b"])
    first = dc.estimate(reports=reports, mechanism=m).distribution
    mapping = {m.outputs.value(k): int(c) for k, c in enumerate(counts)}
    for given in ({"counts": counts}, {"counts": counts.reshape(2, 2)}, {"counts": mapping}, {"reports": frame}):
        assert dc.estimate(mechanism=m, **given).distribution == pytest.approx(first)


def test_a_margin_is_the_sum_over_the_other_answers_and_has_intervals() -> None:
    e = survey(SMOKES * VISITS, np.outer([0.3, 0.7], 0.6 ** np.arange(7) / (0.6 ** np.arange(7)).sum()), 8000,
               np.random.default_rng(1))  # fmt: skip
    first, second = e.margin(0), e.margin(1)
    assert first.distribution == pytest.approx(e.joint.table.sum(axis=1)) and first.space == SMOKES.inputs
    assert second.distribution == pytest.approx(e.joint.table.sum(axis=0)) and second.space == dc.Counts(6)
    assert second.mean() == pytest.approx(second.distribution @ np.arange(7))
    for margin, statistic in ((second, "mean"), (second, ("cdf", 2)), (first, ("cell", "smokes")), (first, [1.0, 0.0])):
        interval = margin.interval(statistic)
        assert interval.low < interval.estimate < interval.high and interval.high - interval.low < 0.5
    assert first.interval(("cell", "smokes")).statistic == "P(smokes)"


def test_margins_of_three_answers() -> None:
    m = SMOKES * ILL * VISITS
    e = survey(m, np.full((2, 2, 7), 1 / 28), 20_000, np.random.default_rng(5))
    assert [len(e.margin(k).distribution) for k in range(3)] == [2, 2, 7]
    assert e.margin(2).mean() == pytest.approx(3, abs=0.3)
    assert e.joint.table.shape == (2, 2, 7)


def test_intervals_of_differences_contain_the_truth_as_often_as_they_say() -> None:
    """400 surveys: 0.95 within three standard errors; and a wrong value is found out."""
    rng, m = np.random.default_rng(4), SMOKES * ILL
    truth = TRUTH[0, 0] / TRUTH[0].sum() - TRUTH[1, 0] / TRUTH[1].sum()
    held = share_held = wrong = 0
    for _ in range(400):
        e = survey(m, TRUTH, 3000, rng)
        found = e.joint.difference((1, "ill"), given=(0, "smokes"), against=(0, "does not"))
        share = e.joint.conditional((1, "ill"), given=(0, "smokes"))
        held += found.low <= truth <= found.high
        share_held += share.low <= 0.4 <= share.high
        wrong += found.low <= 0 <= found.high
    assert 0.917 <= held / 400 <= 0.983 and 0.917 <= share_held / 400 <= 0.983
    assert wrong / 400 < 0.5


def test_a_group_that_may_be_empty_says_nothing() -> None:
    e = survey(SMOKES * ILL, np.array([[0.0, 0.001], [0.2, 0.799]]), 500, np.random.default_rng(8))
    found = e.joint.difference((1, "ill"), (0, "smokes"), (0, "does not"))
    assert (found.low, found.high) == (-1.0, 1.0)
    share = e.joint.conditional((1, "ill"), (0, "smokes"))
    assert (share.low, share.high) == (0.0, 1.0)


def test_several_values_make_a_group() -> None:
    e = survey(SMOKES * VISITS, np.full((2, 7), 1 / 14), 20_000, np.random.default_rng(3))
    found = e.joint.difference((0, "smokes"), given=(1, [0, 1, 2]), against=(1, [3, 4, 5, 6]))
    assert found.low < 0 < found.high and "0 or 1 or 2" in found.statistic


def test_what_is_no_part_or_no_answer_is_refused() -> None:
    e = survey(SMOKES * ILL, TRUTH, 500, np.random.default_rng(1))
    for part in (2, -1, "0", True):
        with refused(InvalidInput, "part"):
            e.margin(part)
    with refused(InvalidInput, given="ill", allowed='a part and a value, such as (1, "ill")'):
        e.joint.conditional("ill", given=(0, "smokes"))
    with refused(Unsupported, "statistic"):
        e.margin(0).interval("variance")
    with refused(Unsupported, token="m1 * m2"):
        _ = dc.estimate([30, 20], SMOKES).joint
    with refused(InvalidInput, "mechanism"):
        dc.estimate([1, 2, 3, 4], SMOKES * dc.uniform(1))


def test_an_estimate_of_tuples_is_described_saved_and_drawn(tmp_path) -> None:
    e = survey(SMOKES * ILL, TRUTH, 3000, np.random.default_rng(1))
    assert "(does not, well)" in e.describe()
    e.save(tmp_path / "e.json")
    content = json.loads((tmp_path / "e.json").read_text())
    assert content["values"][0] == ["smokes", "ill"] and content["space"]["kind"] == "product"
    e.save(tmp_path / "e.html")
    drawn = [row["probability"] for row in e.plot().spec["data"]["values"]]
    assert sorted(drawn) == pytest.approx(sorted(e.distribution.tolist()), rel=1e-4)


@pytest.mark.full
def test_a_product_of_ten_thousand_combinations_is_estimated() -> None:
    """Beyond dense algebra: by structure, with the same certificate."""
    m = dc.geometric(99, epsilon=1) * dc.geometric(99, epsilon=1)
    x = np.arange(100)
    p = np.outer(np.exp(-0.5 * ((x - 30) / 6) ** 2), np.exp(-0.5 * ((x - 60) / 9) ** 2))
    e = survey(m, p / p.sum(), 20_000, np.random.default_rng(7))
    assert e.margin(0).mean() == pytest.approx(30, abs=0.5) and e.margin(1).mean() == pytest.approx(60, abs=0.5)
    assert e.gap < 1e-4
