"""Mechanisms side by side: the numbers are those of the rooms that own them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.comparison import compare
from discreet.errors import InvalidInput
from discreet.optimise.families import FAMILIES
from discreet.properties import PROPERTIES
from support.grids import every_case
from support.refusals import refused


def test_every_family_keeps_the_epsilon_asked_for() -> None:
    c = compare(8, alpha="10/11")
    assert [row.name for row in c.rows] == [family.short for family in FAMILIES.offered("compare")]
    assert all(row.epsilon <= dc.geometric(8, alpha="10/11").certificate.epsilon for row in c.rows)


def test_the_costs_are_those_of_the_paper() -> None:
    """[C] section IV: GM has rescaled L0 cost 2a/(1+a), UM has 1; raw costs are n/(n+1) of them."""
    c = compare(8, alpha="10/11", loss=["L0"])
    assert c["GM"].costs["L0"] == pytest.approx(2 * (10 / 11) / (1 + 10 / 11) * 8 / 9, abs=1e-12)
    assert c["UM"].costs["L0"] == pytest.approx(8 / 9, abs=1e-12)
    assert c["EM"].properties == ("S", "RH", "RM", "CH", "CM", "F", "WH")


def test_the_error_by_true_count_is_the_expected_distance() -> None:
    c = compare(5, epsilon=1, families=["em"])
    m = c["EM"].mechanism
    x = np.arange(6)
    expected = (m.matrix * abs(x[:, None] - x[None, :])).sum(axis=1)
    assert c["EM"].error == pytest.approx(expected, abs=1e-14)


def test_own_mechanisms_can_be_compared_by_name() -> None:
    c = compare(4, families={"mine": dc.geometric(4, epsilon=1), "theirs": dc.uniform(4)})
    assert [row.name for row in c.rows] == ["mine", "theirs"]


def test_the_tables_have_a_line_for_each() -> None:
    text = str(compare(4, epsilon=1))
    blocks = [block.splitlines() for block in text.split("\n\n")]
    assert [block[0] for block in blocks[1:]] == ["Worst case over true counts", "The mechanisms"]
    assert blocks[0][:2] == ["Mechanisms for the counts 0..4, epsilon = 1", "Expected loss"]
    average, worst = blocks[0][2:], blocks[1][1:]
    for lines in (average, worst):
        assert lines[0].startswith("name")
        assert [line.split()[0] for line in lines[1:]] == [family.short for family in FAMILIES.offered("compare")]


def test_no_mechanism_is_left_out_of_the_text_however_many_there_are() -> None:
    m = dc.uniform(1)
    many = compare({f"m{k}": m for k in range(45)})
    assert all(many.describe().count(f"m{k} ") == 3 for k in range(45))  # two tables and the names


def test_the_page_is_the_one_frame_with_tables_and_charts_and_runs_nothing(tmp_path: Path) -> None:
    compare({"<b>mine</b>": dc.geometric(4, epsilon=1), "EM": dc.explicit_fair(4, epsilon=1)}).save(tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert page.count("<table>") == 2 and page.count("<svg") == 2
    assert "<script" not in page and "default-src 'none'" in page
    assert "<b>mine</b>" not in page and "&lt;b&gt;mine&lt;/b&gt;" in page
    assert all(property.sentence.split(":")[0] in page for property in PROPERTIES.values())


def test_the_facts_name_whoever_has_the_least_loss_and_ties_too() -> None:
    facts = compare(8, alpha="10/11", families=["GM", "EM", "UM"]).report().facts
    assert [(fact.value, fact.meaning) for fact in facts] == [
        ("GM", "least expected L0: 0.847"), ("EM", "least expected L1: 2.72"), ("EM", "least expected L2: 11.8"),
    ]  # fmt: skip
    same = compare({"a": dc.uniform(2), "b": dc.uniform(2)}, loss=["L0"])
    assert same.report().facts[0].value == "a and b"


def test_one_mechanism_of_a_comparison_speaks_for_itself() -> None:
    text = compare(4, epsilon=1, families=["GM", "EM"])["EM"].describe()
    assert text.startswith("EM: explicit fair\n") and "4 between any two" not in text and "fair (F)" in text
    assert "49.8% of the time" in text


@pytest.mark.parametrize("ending", [".html", ".png", ".svg", ".json"])
def test_reports_are_written(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"report{ending}"
    compare(4, epsilon=1, families=["GM", "EM"]).save(file)
    data = file.read_bytes()
    if ending == ".png":
        assert data.startswith(b"\x89PNG")
    elif ending == ".json":
        assert [m["name"] for m in json.loads(data)["mechanisms"]] == ["GM", "EM"]
    else:
        assert b"GM" in data
    if ending == ".html":
        assert b"<td><strong>EM</strong></td>" in data
        assert b'src="http' not in data


def test_unknown_names_and_misfits_are_refused() -> None:
    with refused(InvalidInput, "families", given="nonsense"):
        compare(4, epsilon=1, families=["nonsense"])
    with refused(InvalidInput, token="mine ... 0..4"):
        compare(4, families={"mine": dc.geometric(5, epsilon=1)})
    with refused(InvalidInput, "epsilon"):
        compare(4)
    with refused(InvalidInput, token="nothing to compare"):
        compare(4, families={})


@every_case("n", [1, 2, 3, 4, 7, 10])
@every_case("alpha", ["10/11", "1/2", "99/100"])
def test_the_exponential_mechanism_is_symmetric(n: int, alpha: str) -> None:
    assert "S" in compare(n, alpha=alpha, families=["Exponential"])["Exponential"].properties


def test_privacy_is_shown_as_it_was_typed() -> None:
    assert compare(3, epsilon="0.01").privacy == "epsilon = 0.01" and compare(3, alpha="0.9").privacy == "alpha = 0.9"
    assert compare(3, epsilon="0.01", families=["GM"]).table()[1][0][1] == "0.01"


@pytest.mark.full
def test_projective_response_is_compared_by_its_best_guesses_and_by_what_surveys_learn() -> None:
    """At epsilon 1 and 500 values, randomised response has 45 times the variance of projective response."""
    c = compare(499, epsilon=1, families=["projective response", "k-RR"], loss=["L0"])
    points, kept = c["PGR"], c["k-RR"]
    assert points.epsilon <= 1 + 1e-9 and points.reader.outputs == points.mechanism.inputs
    assert points.costs["L0"] == pytest.approx(float(dc.remap(points.mechanism, "L0").cost))
    assert points.share_variance == pytest.approx(float(dc.share_variance(points.mechanism)), rel=0.01)
    assert kept.share_variance == pytest.approx(float(dc.share_variance(kept.mechanism)), rel=0.01)
    assert 44 < kept.share_variance / points.share_variance < 46
    assert "PGR" in [row.name for row in compare(4, epsilon=1).rows]


def test_the_variance_of_shares_is_that_of_an_unbiased_estimate() -> None:
    """Of many simulated surveys, estimated by the inverse; and there is none where reports say nothing."""
    m, rng = dc.geometric(3, epsilon=1), np.random.default_rng(5)
    p = np.full(4, 0.25)
    found = rng.multinomial(1000, p @ m.matrix, 20_000) / 1000 @ np.linalg.inv(m.matrix)
    assert dc.utility.share_variances(m) == pytest.approx(1000 * found.var(axis=0), rel=0.04)
    assert np.isinf(dc.utility.share_variances(dc.uniform(3))).all()
    assert compare(3, epsilon=1, families=["UM"]).to_json()["mechanisms"][0]["share_variance"] == "infinity"


def test_others_are_compared_with_families_or_alone() -> None:
    """As ``discreet compare FILE --families GM`` does."""
    mine = {"mine": [["3/4", "1/4"], ["1/4", "3/4"]]}
    both = dc.compare(others=mine, families=["GM"], epsilon=1)
    assert [row.name for row in both.rows] == ["mine", "GM"] and both.n == 1
    assert both["GM"].costs == dc.compare(1, families=["GM"], epsilon=1)["GM"].costs
    assert both["mine"].costs == dc.compare(mine)["mine"].costs
    assert [row.name for row in dc.compare(others=mine).rows] == ["mine"]
    with refused(InvalidInput):
        dc.compare(5, others=mine, families=["GM"], epsilon=1)


def test_a_sweep_has_the_comparison_of_each_epsilon() -> None:
    sweep = dc.compare(8, epsilons=[0.5, "2"], families=["GM", "EM"], loss="L1", prior=[1 / 9] * 9)
    for epsilon in (0.5, "2"):
        alone = dc.compare(8, epsilon=epsilon, families=["GM", "EM"], loss="L1", prior=[1 / 9] * 9)
        assert sweep[epsilon].to_json() == alone.to_json()
    text = sweep.describe()
    assert "ε = 0.5" in text and "ε = 2" in text and "GM" in text
    mine = dc.compare(1, epsilons=[1, 2], families=["GM"], others={"mine": [[0.75, 0.25], [0.25, 0.75]]})
    assert [one["mine"].costs["L0"] for one in mine.comparisons] == [0.25, 0.25]


def test_a_sweep_shows_a_bar_on_a_terminal_and_none_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dc.compare(4, epsilons=[0.5, 1], families=["GM"])
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")  # what is captured counts as a terminal
    dc.compare(4, epsilons=[0.5, 1], families=["GM"], progress=True)
    list(dc.design_each(3, epsilons=[0.5, 1], progress=True))
    out, shown = capsys.readouterr()
    assert out == "" and "comparisons" in shown and "designs" in shown


def test_a_sweep_without_epsilons_to_choose_is_refused() -> None:
    ready = {"mine": [[0.75, 0.25], [0.25, 0.75]]}
    for arguments in (
        {"n": ready, "epsilons": [1]},
        {"n": 1, "families": ready, "epsilons": [1]},
        {"n": 1, "epsilons": []},
        {"n": 1, "epsilons": [1], "epsilon": 1},
    ):
        with refused(InvalidInput, "epsilons"):
            dc.compare(**arguments)  # type: ignore[arg-type]
    with refused(InvalidInput, token="3"):
        dc.compare(1, epsilons=[1], families=["GM"])[3]
