"""Utility by simulation: seeded, in the unit of the space, in the order that the literature finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InvalidInput, WrongType
from support.refusals import Parts, refused

BINOMIAL = np.array([0.1, 0.2, 0.4, 0.2, 0.1])


def test_a_seed_repeats_and_another_does_not() -> None:
    m = dc.geometric(4, epsilon=1)
    first, second, third = (dc.reconstruction_loss(m, BINOMIAL, people=200, repeats=4, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.losses, second.losses) and not np.array_equal(first.losses, third.losses)
    assert first.mean == pytest.approx(first.losses.mean()) and "+-" in str(first)
    assert (
        first.to_json()["losses"] == first.losses.tolist()
        and first.to_json()["format"] == "discreet reconstruction-loss"
    )
    assert f"{first.mean:.3g} (standard error" in first.describe()


def test_more_people_and_less_noise_lose_less() -> None:
    losses = {
        (epsilon, people): dc.reconstruction_loss(
            dc.geometric(4, epsilon=epsilon), BINOMIAL, people=people, repeats=6
        ).mean
        for epsilon in ("0.5", "2")
        for people in (200, 5000)
    }
    assert losses["2", 5000] < losses["2", 200] < losses["0.5", 200]
    assert losses["2", 5000] < losses["0.5", 5000]


def test_without_noise_the_loss_against_the_sample_is_nothing_and_against_the_population_is_sampling() -> None:
    m = dc.randomized_response(5, epsilon=60)
    sample, population = (
        dc.reconstruction_loss(m, BINOMIAL, people=500, repeats=5, against=against)
        for against in ("sample", "population")
    )
    assert sample.mean < 1e-6 < 1e-3 < population.mean
    assert sample.report_loss == 0


def test_given_people_are_the_same_every_time() -> None:
    loss = dc.reconstruction_loss(dc.geometric(4, epsilon=2), [100, 0, 50, 0, 25], repeats=3)
    assert loss.people == 175 and loss.against == "sample"


def test_mechanisms_are_compared_at_equal_privacy_under_either_calibration() -> None:
    by_ratio = dc.compare_reconstruction(
        dc.Counts(20), np.full(21, 1 / 21), people=2000, repeats=4, likelihood_ratio=2, within=2
    )
    by_distance = dc.compare_reconstruction(dc.Counts(20), np.full(21, 1 / 21), people=2000, repeats=4, distance=3)
    assert by_ratio.losses["geometric"].mean < by_ratio.losses["randomized_response"].mean
    assert (
        abs(by_distance.losses["geometric"].report_loss - by_distance.losses["randomized_response"].report_loss) < 0.3
    )
    text = str(by_distance)
    assert "truncated geometric" in text and "expected distance" in text
    assert set(by_ratio.calibrations) == set(by_ratio.losses) == {"geometric", "randomized_response"}


@pytest.mark.full
def test_the_two_calibrations_order_mechanisms_differently_on_the_gowalla_square(outside_data: Path) -> None:
    """Equal expected distance: k-RR is better, contrary to [A]. Equal ratio within 1 km: the geometric is."""
    grid = dc.Grid(30, 30, cell=150.0)
    table = pd.read_csv(outside_data / "gowalla_paris_grid.csv")
    population = np.zeros(900)
    population[table["row"] * 30 + table["col"]] = table["checkins"]
    population /= population.sum()
    common = {"people": 750, "repeats": 6, "families": ["planar_geometric", "randomized_response"]}
    distance = dc.compare_reconstruction(grid, population, distance=450, **common)
    ratio = dc.compare_reconstruction(grid, population, likelihood_ratio=float(np.exp(4)), within=1000, **common)
    assert 119 <= distance.losses["randomized_response"].mean + 10 <= 175
    assert 205 <= distance.losses["planar_geometric"].mean <= 250
    assert distance.losses["randomized_response"].mean < distance.losses["planar_geometric"].mean
    assert ratio.losses["randomized_response"].mean > 2 * ratio.losses["planar_geometric"].mean


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"population": BINOMIAL}, Parts(argument="people", token="people=")),
        ({"population": [1, 2, 3]}, Parts(argument="population")),
        ({"population": BINOMIAL, "people": 10, "against": "truth"}, Parts(argument="against", given="truth")),
        ({"population": BINOMIAL, "people": 10, "repeats": 0}, Parts(argument="repeats", given=0)),
        ({"population": [0.5, 0.5, 0.5, 0, 0], "people": 10}, Parts(argument="prior", token="up to 1")),
    ],
)
def test_mistakes_are_said_clearly(arguments: dict, words: Parts) -> None:
    with refused(InvalidInput, **words):
        dc.reconstruction_loss(dc.geometric(4, epsilon=1), **arguments)


def test_a_comparison_needs_one_calibration() -> None:
    for wish in ({}, {"distance": 1, "likelihood_ratio": 2}, {"distance": 1, "within": 2}):
        with pytest.raises(InvalidInput):
            dc.compare_reconstruction(dc.Counts(4), BINOMIAL, people=10, **wish)
    with refused(WrongType, "space"):
        dc.compare_reconstruction(dc.Integers(), BINOMIAL, people=10, distance=1)


def test_progress_is_shown_on_request_only(capsys: pytest.CaptureFixture[str]) -> None:
    m = dc.geometric(4, epsilon=1)
    dc.reconstruction_loss(m, BINOMIAL, people=50, repeats=2)
    assert capsys.readouterr() == ("", "")
    dc.reconstruction_loss(m, BINOMIAL, people=50, repeats=2, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
