"""Spiky estimates: a comb is called one where the reports cannot show it, and nowhere else."""

from __future__ import annotations

import csv
import gzip
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.estimation import spikes
from support.command_line import run
from support.paths import VISITS

DATA = VISITS


def visits() -> np.ndarray:
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        return np.array([int(row["doctor_visits"]) for row in csv.DictReader(file)])


VALUES = [2, 7, 12, 18]


def four_values(epsilon: object) -> dc.Estimate:
    m = dc.geometric(20, epsilon=epsilon)
    truths = np.random.default_rng(0).choice(VALUES, 2000)
    return dc.estimate(reports=m.simulate(truths, seed=2), mechanism=m, method="mle")


@pytest.mark.parametrize("seed", range(3))
def test_the_estimate_of_the_readme_is_spiky_and_its_smoothed_one_is_not(seed: int) -> None:
    """Doctor visits at 0.1 per visit: the maximum says that nobody makes some small number of visits, and many do."""
    m, truths = dc.geometric(100, epsilon="0.1"), visits()
    reports = m.simulate(truths, seed=seed)
    e = dc.estimate(reports=reports, mechanism=m, method="mle")
    assert e.spikes and e.spikes.deviance <= e.spikes.allowed
    wrong = [k for k in range(2, 9) if e.distribution[k] < 1e-6 and (truths == k).mean() > 0.01]
    assert wrong  # a bar of 0 where more than one in a hundred is
    smooth = dc.estimate(reports=reports, mechanism=m, method="smoothed")
    assert smooth.spikes is None and not spikes.examine(smooth._likelihood, smooth.distribution)


@pytest.mark.parametrize("epsilon", [1, 2, 4])
def test_a_population_of_few_values_under_little_noise_is_not_called_spiky(epsilon: int) -> None:
    """The negative control: here the comb is the truth, and the reports show it."""
    e = four_values(epsilon)
    assert sum(e.distribution[k - 1 : k + 2].sum() for k in VALUES) > 0.95
    assert e.spikes is not None and not e.spikes


def test_the_same_population_under_wide_noise_is() -> None:
    """The words stay true: these reports cannot tell the four values from their neighbours."""
    assert four_values("0.1").spikes


@pytest.mark.parametrize(("epsilon", "spiky"), [("0.5", True), (2, False)])
def test_a_smooth_population_is_spiky_where_noise_hides_it(epsilon: object, spiky: bool) -> None:
    m = dc.geometric(20, epsilon=epsilon)
    e = dc.estimate(
        reports=m.simulate(np.random.default_rng(1).binomial(20, 0.3, 5000), seed=2), mechanism=m, method="mle"
    )
    assert bool(e.spikes) is spiky


def test_what_is_shown_as_an_example_is_one() -> None:
    """By the definition, with the likelihood of the problem itself: another distribution, as likely, and smoother."""
    e = four_values("0.1")
    p, around = e.distribution, e.space.neighbour_mean(e.distribution)
    assert e.spikes is not None and around is not None
    q = (p + around) / 2  # here the averaged one fits at once, without an update
    lost = 2 * (e.problem.log_likelihood(p) - e.problem.log_likelihood(q))
    assert e.spikes.deviance == pytest.approx(lost, abs=1e-6) and lost <= e.spikes.allowed
    assert e.spikes.moved == pytest.approx(np.abs(p - q).sum() / 2)


def test_a_report_that_no_truth_is_near_does_not_matter() -> None:
    """Its chance is 0 in doubles, and it did not occur."""
    e = dc.estimate({40: 30, 42: 5}, dc.geometric(5000, epsilon=1), method="mle")
    assert e.spikes is not None and np.isfinite(e.spikes.deviance)


def test_maps_have_neighbours_on_four_sides_and_labels_have_none() -> None:
    grid, p = dc.Grid(2, 3), np.array([6.0, 0, 0, 0, 0, 0]) / 6
    found = grid.neighbour_mean(p)
    assert found is not None and found == pytest.approx([0.5, 0.25, 0, 0.25, 0, 0])
    assert found.sum() == pytest.approx(1)
    counts = dc.Counts(5).neighbour_mean(p)
    assert counts is not None and counts == pytest.approx([0.5, 0.5, 0, 0, 0, 0])
    assert dc.estimate([50, 30, 20], dc.randomized_response(["a", "b", "c"], epsilon=1), method="mle").spikes is None
    assert dc.estimate([5, 0, 9, 0], dc.geometric(3, epsilon=1), method="inverse").spikes is None


def test_terminal_page_picture_and_numbers_say_so(tmp_path: Path) -> None:
    spiky, plain = four_values("0.1"), four_values(4)
    for e, said in ((spiky, True), (plain, False)):
        page = e.save(tmp_path / "page.html").read_text(encoding="utf-8")
        head = unescape(page[: page.index("<table")])
        assert (spikes.MEANING in head) is said
        assert ("leave --method out" in head) is said
        assert (spikes.MEANING in " ".join(str(e).split())) is said and e.to_json()["spiky"] is said
        assert ("artefacts" in str(e.plot(band=False).spec)) is said


def test_the_command_line_names_the_method_as_it_is_typed(tmp_path: Path) -> None:
    m = dc.geometric(20, epsilon="0.1")
    m.save(tmp_path / "m.json")
    truths = np.random.default_rng(0).choice(VALUES, 2000)
    rows = "\n".join(map(str, m.simulate(truths, seed=2).tolist()))
    (tmp_path / "r.csv").write_text(f"report\n{rows}\n", encoding="utf-8")
    told = run("estimate", tmp_path / "r.csv", "--mechanism", tmp_path / "m.json", "--method", "mle").stdout
    assert "leave --method out" in " ".join(told.split())
    told = run("estimate", tmp_path / "r.csv", "--mechanism", tmp_path / "m.json").stdout
    assert "artefacts" not in told
