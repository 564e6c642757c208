"""The trade-off of bounded noise and the numbers behind the figures of [S]."""

from __future__ import annotations

import json

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.optimise.noise.tradeoff import KINDS, knee_of
from discreet_studies import papers as figures
from support.golden import golden_rows
from support.grids import every_case
from support.refusals import refused


@every_case("row", golden_rows("golden_002_fig123.csv")[::4], ids=lambda r: f"{r['eta']} {r['D']} {r['eps']}")
def test_the_points_of_figures_2_and_3(row):
    point = figures.figure_3([row["eps"]], [int(row["D"])], [row["eta"]])[0]
    names = {
        "delta_star": "delta_star", "delta_star_corrected": "delta_star_LP", "bound": "bound", "variance": "variance",
        "true_delta": "true_delta", "least_delta": "opt_true_LP",
    }  # fmt: skip
    for ours, theirs in names.items():
        assert point[ours] == pytest.approx(float(row[theirs]), rel=1e-8), ours
    assert point == figures.figure_2(row["eta"], [int(row["D"])], [row["eps"]])[0]


@every_case("row", golden_rows("golden_002_fig4.csv")[::3], ids=lambda r: f"{r['eta']} {r['D']} {r['eps']}")
def test_the_points_of_figure_4(row):
    point = figures.figure_4(row["eta"], int(row["D"]), [row["eps"]])[0]
    assert point["gaussian_sigma2"] == pytest.approx(float(row["dG_eq45"]), rel=1e-8)
    assert point["gaussian_variance"] == pytest.approx(float(row["dG_matched_delta"]), rel=1e-8)
    assert point["true_delta"] == pytest.approx(float(row["true_delta"]), rel=1e-8)


def test_figure_1_has_the_values_the_paper_prints():
    rows = figures.figure_1()
    assert rows[1]["paper"] == pytest.approx(0.08987, abs=1e-5) and rows[2]["paper"] == pytest.approx(0.0096, abs=1e-5)
    assert rows[1]["gaussian_sigma2"] == pytest.approx(0.11685, abs=1e-5)
    assert rows[2]["gaussian_sigma2"] == pytest.approx(0.000416, abs=1e-6)
    assert sum(row["paper"] * (1 if row["z"] == 0 else 2) for row in rows) == pytest.approx(1)


def test_the_paper_is_never_better_than_the_best_and_its_bound_never_below_the_truth():
    for row in [*figures.figure_2(epsilons=["0.5", "1.1", "2.2"]), *figures.figure_3(stays=["0.1", "0.5", "0.8"])]:
        assert row["least_delta"] <= row["true_delta"] * (1 + 1e-9)
        if row["theorem3_holds"]:
            assert row["true_delta"] <= row["bound"] * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tradeoff_has_a_row_for_each_point_and_a_knee_for_each_curve(kind):
    data = dc.noise_tradeoff(["1.5", 2], [2, 3], ["0.3", "0.6"], kind=kind)
    assert len(data.rows) == 8 and len(data.knees) == 4 and data.kind == kind
    for row in data.rows:
        m = dc.bounded_noise(row["epsilon"], row["stay"], row["reach"], kind=kind)
        assert row["delta"] == pytest.approx(m.certificate.delta, rel=1e-9)
        assert row["variance"] == pytest.approx(m.certificate.details["variance"], rel=1e-6)


@pytest.mark.parametrize(("kind", "stay"), [("optimal", 0.5036), ("all-counts", 0.4191)])
def test_beyond_the_knee_delta_rises(kind, stay):
    knee = knee_of(kind, "1.1", 4)
    assert float(knee) == pytest.approx(stay, abs=1e-4)
    at = [dc.bounded_noise("1.1", knee * k / 100, 4, kind=kind).certificate.delta for k in (96, 100, 104)]
    assert at[1] <= at[0] < at[2] and at[2] > 1.5 * at[1]


def test_what_cannot_be_looked_at_is_refused():
    with refused(InvalidInput, "kind", given="best"):
        dc.noise_tradeoff(1, 3, kind="best")
    with refused(InvalidInput, token="nothing to look"):
        dc.noise_tradeoff([], 3)
    with refused(InvalidInput, "reach", given=21):
        dc.noise_tradeoff(1, 21, kind="all-counts")


def test_the_picture_marks_each_knee():
    data = dc.noise_tradeoff(["1.1", "2.2"], [4, 6], ["0.2", "0.5", "0.9"])
    chart = dc.plots.tradeoff(data)
    upper, lower = chart.spec["vconcat"]
    marks = upper["layer"][1]["data"]["values"]
    assert {(mark["name"], round(mark["stay"], 3)) for mark in marks} == {
        (f"D = {knee['reach']}, epsilon {knee['epsilon']:g}", round(knee["stay"], 3)) for knee in data.knees
    }
    assert len(lower["data"]["values"]) == len(data.rows)
    assert chart.svg().startswith("<svg")
    with refused(InvalidInput, "data"):
        dc.plots.tradeoff(dc.noise_tradeoff(1, range(1, 10), ["0.5"]))


def test_the_report_has_every_knee_and_point_and_the_picture():
    data = dc.noise_tradeoff("2.2", [4, 8], ["0.5", "0.8", "0.85"])
    text = data.describe()
    assert "2.2      4            80.1%  0.000121" in text and text.count("\n    2.2 ") == len(data.knees) + len(
        data.rows
    )
    assert [fact.value for fact in data.report().facts] == ["80.1%", "80%"]
    page = data.report().page()
    assert page.count("<svg") == 1 and page.count("<td") == 4 * len(data.knees) + 5 * len(data.rows)
    stored = json.loads(json.dumps(data.to_json()))
    assert stored["kind"] == "optimal" and tuple(stored["rows"]) == data.rows and tuple(stored["knees"]) == data.knees


def test_more_curves_than_a_picture_can_tell_apart_leave_the_tables():
    page = dc.noise_tradeoff(1, range(1, 10), ["0.5"]).report().page()
    assert "<svg" not in page and "<figure" not in page and page.count("<tr>") == 2 + 2 * 9
