"""Odd but honest inputs: names of files that look like patterns, reports far out, labels that are numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import run
from discreet.collect.tables import Source, perturb_column
from discreet.errors import InvalidInput

# ------------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["people[1]", "people*", "people?"])
def test_the_name_of_a_file_is_no_pattern(name: str, kind: str, tmp_path: Path) -> None:
    for stem, values in ((name, [1, 2]), ("people1", [8, 8, 8])):
        frame, file = pd.DataFrame({"visits": values}), tmp_path / f"{stem}.{kind}"
        frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file)
    assert Source(tmp_path / f"{name}.{kind}", "visits").counts(dc.Counts(9)) == {1: 1, 2: 1}


def test_folders_are_no_columns(tmp_path: Path) -> None:
    folder = tmp_path / "epsilon=1"
    folder.mkdir()
    pd.DataFrame({"report": [1, 2]}).to_parquet(folder / "reports.parquet")
    assert Source(folder / "reports.parquet").column == "report"


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_labels_that_are_numbers_come_back_as_numbers(kind: str, tmp_path: Path) -> None:
    m = dc.randomized_response([1, 2, 3], epsilon=2)
    pd.DataFrame({"answer": [1, 2, 3, 1] * 50}).to_csv(tmp_path / "people.csv", index=False)
    reports = tmp_path / f"reports.{kind}"
    perturb_column(m, Source(tmp_path / "people.csv"), reports)
    counts = Source(reports).counts(m.outputs)
    assert dc.estimate(counts, m).people == 200


def test_a_column_without_rows_is_said_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("visits\n")
    m = dc.geometric(9, epsilon=1)
    with pytest.raises(InvalidInput, match="has no rows"):
        perturb_column(m, Source(tmp_path / "people.csv", "visits"), tmp_path / "reports.csv")
    with pytest.raises(InvalidInput, match="has no rows"):
        Source(tmp_path / "people.csv").counts(m.outputs)


def test_the_folder_of_the_output_must_exist(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("visits\n1\n")
    with pytest.raises(InvalidInput, match="no folder"):
        perturb_column(dc.geometric(9, epsilon=1), Source(tmp_path / "people.csv"), tmp_path / "none" / "reports.csv")


# ------------------------------------------------------------------------------------------------ words


def test_the_level_holds_for_all_intervals_and_is_checked_before_anything_is_written(tmp_path: Path) -> None:
    m, page = tmp_path / "m.json", tmp_path / "page.html"
    dc.geometric(4, epsilon=1).save(m)
    pd.DataFrame({"report": [0] * 30 + [2] * 30 + [4] * 20 + [1] * 15}).to_csv(tmp_path / "reports.csv", index=False)
    out = run("estimate", tmp_path / "reports.csv", "--mechanism", m, "--level", 0.5, "--report", page).stdout
    assert out.count("low (0.5)") == 2 and "0.95" not in out
    text = page.read_text(encoding="utf-8")
    assert "low (0.5)" in text and "level 0.5" in text and "level 0.95" not in text
    page.unlink()
    refused = run("estimate", tmp_path / "reports.csv", "--mechanism", m, "--level", 2, "--report", page, code=2)
    assert "level" in refused.stderr and not refused.stdout and not page.exists()


def test_what_is_called_the_estimate_is_that_of_the_method_asked_for(tmp_path: Path) -> None:
    m = dc.geometric(4, epsilon=1)
    m.save(tmp_path / "m.json")
    counts = [80, 0, 3, 0, 7]
    pd.DataFrame({"report": np.repeat(range(5), counts)}).to_csv(tmp_path / "reports.csv", index=False)
    arguments = ("--mechanism", tmp_path / "m.json", "--method", "ibu", "--iterations", 1, "--json")
    found = json.loads(run("estimate", tmp_path / "reports.csv", *arguments).stdout)
    mean = dc.estimate(counts, m, method="ibu", iterations=1).mean()
    assert found["intervals"][0]["estimate"] == pytest.approx(mean) == found["mean"]
    assert abs(mean - dc.estimate(counts, m).mean()) > 0.01  # the two differ, or nothing was tested


# ------------------------------------------------------------------------------------------------ numbers


def test_the_log_likelihood_of_reports_beyond_the_range_is_theirs() -> None:
    m = dc.two_sided_geometric(epsilon="0.5")
    counts = {-4: 3, 0: 10, 2: 20, 3: 9, 5: 4}
    e = dc.estimate(counts, m, over=dc.Counts(3))
    chances = [sum(e.distribution[i] * float(m.probability(i, j)) for i in range(4)) for j in counts]
    assert e.log_likelihood == pytest.approx(np.array(list(counts.values())) @ np.log(chances), rel=1e-12)
    assert e.trace[-1].log_likelihood == pytest.approx(e.log_likelihood, rel=1e-9)


def test_a_report_that_is_hardly_possible_does_not_spoil_the_others() -> None:
    """P(60 | at most 5) is 1e-165: shares over chances overflow when they are squared."""
    e = dc.estimate({60: 1, 1: 500}, dc.discrete_gaussian(sigma2=4), over=dc.Counts(5))
    assert e.converged and e.distribution[1] > 0.9


def test_a_report_far_out_is_not_called_impossible_on_a_long_range() -> None:
    """P(1800 | 1500) is e^-112: nothing to a Fourier transform, and not zero."""
    n, sigma2 = 1500, 400
    m = dc.discrete_gaussian(sigma2=sigma2)
    reports = np.append(m.simulate(np.random.default_rng(1).integers(0, n + 1, 3000), seed=1), n + 300)
    e = dc.estimate(reports=reports, mechanism=m, over=dc.Counts(n))
    seen, counts = np.unique(reports, return_counts=True)
    z = np.arange(-400, 401)
    A = np.exp(-((seen - np.arange(n + 1)[:, None]) ** 2) / (2 * sigma2)) / np.exp(-z * z / (2 * sigma2)).sum()
    u = e.distribution @ A
    assert e.log_likelihood == pytest.approx(counts @ np.log(u), rel=1e-9)
    assert e.converged and math.log((A @ (counts / counts.sum() / u)).max()) <= 2 * e.tolerance


def test_a_report_without_measure_takes_no_memory() -> None:
    with pytest.raises(InvalidInput, match="cannot come from"):
        dc.estimate({-(10**10): 1, 1: 5}, dc.discrete_gaussian(sigma2=4), over=dc.Counts(5))


def test_a_map_with_hardly_any_noise_is_as_good_as_reported() -> None:
    grid = dc.Grid(36, 36, cell=1.0)
    m = dc.planar_geometric(grid, epsilon=20)
    counts = np.random.default_rng(1).multinomial(20_000, np.full(grid.size, 1 / grid.size))
    e = dc.estimate(counts, m)
    assert e.converged and np.abs(e.distribution - counts / 20_000).max() < 1e-6
    assert e.iterations <= 30


def test_smoothing_refuses_what_it_cannot_do_and_does_the_rest() -> None:
    m = dc.geometric(4, epsilon=1)
    with pytest.raises(InvalidInput, match="at least 5 reports"):
        dc.estimate([1, 0, 0, 0, 0], m, method="smoothed")
    for seed in (-1, 1.5, True):
        with pytest.raises(InvalidInput, match="seed"):
            dc.estimate([9] * 5, m, method="smoothed", seed=seed)  # type: ignore[arg-type]
    e = dc.estimate([10**9] * 5, m, method="smoothed")  # more than NumPy deals into folds of one size
    assert e.distribution.sum() == pytest.approx(1)


def test_no_variance_is_larger_than_that_of_the_two_ends() -> None:
    e = dc.estimate([110, 48, 60, 40, 42], dc.randomized_response(5, epsilon=1))
    assert e.interval("variance", 0.9999).high <= 4
