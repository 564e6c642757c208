"""[A] without its data: synthetic check-ins that say so, a uniform prior, and its remarks against brute force."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet_studies.claims import Basis
from discreet_studies.datasets import Datasets
from discreet_studies.places import lines, remarks, standing_in
from discreet_studies.places.exhibits import PLACES
from discreet_studies.places.remarks import (
    best_information,
    collection_ratio,
    least_epsilon,
    response_information,
    subset_information,
)
from discreet_studies.places.square import SYNTHETIC, square
from discreet_studies.study import Setting


@pytest.mark.parametrize("key", ["1", "calibration"])
def test_without_gowalla_every_chart_claim_and_note_says_what_stands_in(key: str, tmp_path: Path) -> None:
    found = dc.study("places", key, quick=True, data=tmp_path)
    drawn = found.results[key]
    assert not found.left_out and drawn.charts and standing_in.LABEL in drawn.note and "Seed 2026" in drawn.note
    for chart in drawn.charts.values():
        assert chart.spec["title"]["subtitle"][0] == standing_in.LABEL
    for claim in drawn.claims:
        assert (claim.basis is Basis.OURS) == ("on synthetic check-ins" in claim.place)
        assert claim.basis in (Basis.OURS, Basis.MATHEMATICS)
    assert "Synthetic check-ins" in found.describe()


def test_synthetic_check_ins_come_from_the_seed_alone(tmp_path: Path) -> None:
    setting = Setting(datasets=Datasets(tmp_path))
    one, again, other = square(setting), square(setting), square(replace(setting, seed=7))
    assert one.source == SYNTHETIC and np.array_equal(one.cells, again.cells)
    assert not np.array_equal(one.counts, other.counts)
    for drawn in (one, other):  # both readings of the paper's 750 need so many
        assert len(drawn.cells) >= 7_500 and len(drawn.by_person) > 500


def test_gowalla_is_preferred_where_it_is_there_and_carries_no_label(tmp_path: Path) -> None:
    (tmp_path / "gowalla_paris.csv").write_text("user,time,lat,lon\n1,2010-01-01T00:00:00Z,48.8583,2.3478\n")
    setting = Setting(quick=True, datasets=Datasets(tmp_path))
    assert square(setting).source == "Gowalla" and square(setting).in_file == 1
    assert square(replace(setting, datasets=Datasets(tmp_path, stand_ins=True))).source == SYNTHETIC
    drawn = PLACES.exhibits[0].draw(setting)
    assert not drawn.note and standing_in.LABEL not in str(drawn.charts[""].spec["title"])


def test_a_uniform_prior_gives_447_453_and_455_metres() -> None:
    drawn = remarks.draw_uniform_prior(Setting(quick=True))
    metres = [round(float(str(row["metres_with_a_uniform_prior"]))) for row in drawn.tables[""]]
    assert metres == [447, 453, 455] and drawn.claims[0].verdict.value == "does not hold"


# ------------------------------------------------------------------------------------------------ k-RR is optimal


@pytest.mark.parametrize(("k", "chosen"), [(3, 1), (4, 2), (5, 2)])
def test_the_information_of_random_subsets_is_that_of_their_matrix(k: int, chosen: int) -> None:
    epsilon = 1.3
    subsets = [s for s in product((0, 1), repeat=k) if sum(s) == chosen]
    matrix = np.array([[math.exp(epsilon) if s[x] else 1.0 for s in subsets] for x in range(k)])
    matrix /= matrix.sum(axis=1, keepdims=True)
    mean = matrix.mean(axis=0)
    expected = float((matrix * np.log(matrix / mean)).sum() / k)
    assert subset_information(k, chosen, epsilon) == pytest.approx(expected, rel=1e-12)
    if chosen == 1:
        assert response_information([1 / k] * k, epsilon) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_no_random_ldp_mechanism_has_more_information_than_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior, epsilon = rng.dirichlet(np.ones(3)).tolist(), 0.7
    columns = np.exp(epsilon * rng.random((3, 4)))
    weights = np.linalg.lstsq(columns, np.ones(3), rcond=None)[0]
    matrix = columns * np.maximum(weights, 0)
    matrix = np.concatenate([matrix, np.full((3, 1), 0.0)], axis=1) / matrix.sum(axis=1).max()
    matrix[:, -1] = 1 - matrix[:, :-1].sum(axis=1)
    keep = matrix[:, -1].min() > 0 and matrix[:, -1].max() <= math.exp(epsilon) * matrix[:, -1].min()
    used = matrix if keep else matrix[:, :-1]
    used = used / used.sum(axis=1, keepdims=True) if keep else np.full((3, 1), 1.0)
    mean = np.array(prior) @ used
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(used > 0, used * np.log(used / mean), 0.0)
    assert float((np.array(prior)[:, None] * terms).sum()) <= best_information(prior, epsilon) + 1e-9
    assert response_information(prior, epsilon) <= best_information(prior, epsilon) + 1e-12


def test_from_the_least_epsilon_on_one_value_is_best() -> None:
    for k in (4, 10, 100):
        start = least_epsilon(k)
        for epsilon, best in ((start * 1.01, True), (start * 0.99, False)):
            others = max(subset_information(k, chosen, epsilon) for chosen in range(2, k))
            assert (subset_information(k, 1, epsilon) > others) is best


# ------------------------------------------------------------------------------------------------ LDP implies DP


def test_a_mechanism_whose_records_are_less_private_has_a_larger_ratio() -> None:
    weak = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 10), Fraction(9, 10)]]
    strong = [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
    assert collection_ratio(weak, 2) == 9 and collection_ratio(strong, 2) == 2
    assert collection_ratio(strong, 2, histogram=True) <= 2


# ------------------------------------------------------------------------------------------------ values on a line


def test_energy_and_age_are_read_where_they_are_and_named_where_they_are_not(tmp_path: Path) -> None:
    (tmp_path / "household_power_daily.csv").write_text(
        "date,kwh\n" + "".join(f"2007-01-{day:02},{10 + day}.5\n" for day in range(1, 29))
    )
    drawn = lines.draw_lines(Setting(quick=True, datasets=Datasets(tmp_path)))
    assert {row["data"] for row in drawn.tables[""]} == {"age, doctor visits", "energy, kWh a day"}
    assert any("UCI Adult" in sentence for sentence in drawn.choices)
    assert {claim.key.rpartition(", ")[2] for claim in drawn.claims} == {"distance", "ratio"}


def test_both_mechanisms_report_three_steps_from_the_truth_on_average() -> None:
    counts = np.array([5, 3, 0, 2, 9, 4, 1, 6, 2, 8, 3, 3])
    for mechanism in lines.at_equal_distance(counts).values():
        matrix, values = mechanism.matrix, np.arange(12)
        mean = (counts / counts.sum()) @ (matrix * np.abs(values[:, None] - values)).sum(axis=1)
        assert mean == pytest.approx(lines.STEPS, abs=1e-3)
