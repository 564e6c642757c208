"""Columns in files are perturbed and estimated in Python as on the command line, and as values in memory are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from support.refusals import refused

M, BOLD = dc.geometric(6, epsilon=1), dc.geometric(6, epsilon=3)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Reports with the sex of each person, and with the name of the mechanism that made them."""
    rng = np.random.default_rng(5)
    truths = rng.binomial(6, 0.4, 900)
    frame = pd.DataFrame({"sex": np.where(rng.random(900) < 0.5, "f", "m"), "choice": ["shy", "bold", "shy"] * 300})
    frame["report"] = np.where(frame["choice"] == "shy", M.simulate(truths, seed=1), BOLD.simulate(truths, seed=2))
    frame.to_csv(tmp_path / "reports.csv", index=False)
    return tmp_path / "reports.csv"


def same(found: dc.Estimate, expected: dc.Estimate) -> bool:
    return found.people == expected.people and bool(np.array_equal(found.distribution, expected.distribution))


def test_files_of_one_mechanism_are_added_up(reports: Path) -> None:
    values = pd.read_csv(reports)["report"]
    shares = list[float]()
    found = dc.estimate_files([reports, reports], M, column="report", on_progress=shares.append)
    assert same(found, dc.estimate({int(v): 2 * n for v, n in Counter(values).items()}, M))
    assert not same(found, dc.estimate(Counter(map(int, values)), M))
    assert shares == sorted(shares) and all(0 <= share <= 1 for share in shares)


def test_each_file_may_have_its_own_mechanism(reports: Path, tmp_path: Path) -> None:
    BOLD.save(tmp_path / "bold.json")
    counts = Counter(map(int, pd.read_csv(reports)["report"]))
    found = dc.estimate_files([reports, reports], [M, tmp_path / "bold.json"], column="report", method="mle")
    assert same(found, dc.estimate([(counts, M), (counts, BOLD)], method="mle"))


def test_a_column_names_the_mechanism_of_each_report(reports: Path) -> None:
    frame = pd.read_csv(reports)
    counts = {name: Counter(map(int, rows["report"])) for name, rows in frame.groupby("choice")}
    mechanisms = {"shy": M, "bold": BOLD, "nobody": M}
    found = dc.estimate_files(reports, mechanisms, column="report", group="choice")
    assert same(found, dc.estimate([(counts["shy"], M), (counts["bold"], BOLD)]))
    page = found.report().page()
    assert "Group shy" in page and "Group bold" in page and "nobody" not in page and "reports.csv" in page


def test_groups_in_clear_are_estimated_one_by_one(reports: Path) -> None:
    frame = pd.read_csv(reports)
    found = dc.estimate_files_by(reports, M, "sex", column="report")
    expected = dc.estimate_by(reports=frame["report"].tolist(), by=frame["sex"].tolist(), mechanism=M)
    assert found.difference("m", "f") == expected.difference("m", "f")


def test_a_file_is_perturbed_by_the_mechanism_of_each_person(tmp_path: Path) -> None:
    truth, turned = dc.from_matrix([[1, 0], [0, 1]]), dc.from_matrix([[0, 1], [1, 0]])
    pd.DataFrame({"turn": ["no", "yes"] * 3, "v": [0, 0, 1, 1, 0, 1]}).to_csv(tmp_path / "people.csv", index=False)
    made = dc.perturb_file(tmp_path / "people.csv", "v", {"no": truth, "yes": turned}, tmp_path / "r.csv", group="turn")
    assert made.reports == 6 and set(made.guarantees) == {"no", "yes"} and made.in_clear is None
    assert pd.read_csv(tmp_path / "r.csv")["report"].tolist() == [0, 1, 1, 0, 0, 0]
    made = dc.perturb_file(tmp_path / "people.csv", "v", truth, tmp_path / "s.csv", by="turn")
    assert made.in_clear == "turn" and list(pd.read_csv(tmp_path / "s.csv").columns) == ["turn", "report"]


def test_what_does_not_go_together_is_refused(reports: Path, tmp_path: Path) -> None:
    unbounded, several = dc.two_sided_geometric(epsilon=1), {"shy": M, "bold": BOLD}
    with refused(InvalidInput, "over"):
        dc.estimate_files(reports, unbounded, column="report")
    with refused(InvalidInput, "over"):
        dc.estimate_files(reports, M, column="report", over=dc.Counts(9))
    with refused(InvalidInput, "mechanism"):
        dc.estimate_files([reports] * 3, [M, BOLD], column="report")
    for mechanism, group in ((several, None), (M, "choice"), ({}, "choice")):
        with refused(InvalidInput, "mechanism"):
            dc.estimate_files(reports, mechanism, column="report", group=group)
    with refused(InvalidInput, "files"):
        dc.estimate_files([], M)
    with refused(InvalidInput, "by"):
        dc.perturb_file(reports, "report", several, tmp_path / "r.csv", group="choice", by="sex")
    with refused(Unsupported, "mechanism"):
        dc.estimate_files(reports, M * BOLD, column="report")
    assert not (tmp_path / "r.csv").exists()
