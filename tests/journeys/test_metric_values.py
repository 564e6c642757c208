"""Values with distances of their own, from a file on a person's device to the estimate: ring, tree, range, graph."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.collect.collection import read_collection, reader_of
from discreet.errors import DiscreetError
from discreet.spaces import Space
from support.command_line import printed

HOURS = dc.Ring(12)
ENERGY = dc.Range(0, 4, "0.5")
STOPS = dc.Graph([("north", "centre"), ("centre", "east"), ("east", "harbour", 2)])
TREE = dc.Tree({"any": None, "fruit": "any", "root": "any", "apple": "fruit"})
SPACES: list[Space] = [HOURS, ENERGY, STOPS, TREE, dc.Range(20, 80, 10)]
everywhere = pytest.mark.parametrize("space", SPACES, ids=repr)


@everywhere
def test_reports_of_devices_are_estimated(space, tmp_path: Path):
    truths = [
        space.value(k)
        for k in np.random.default_rng(1).choice(
            space.size, 4000, p=np.arange(1, space.size + 1) / sum(range(1, space.size + 1))
        )
    ]
    mechanism = dc.geometric(space, epsilon=2 / float(space.unit))
    mechanism.save(tmp_path / "m.json")
    reports = dc.load(tmp_path / "m.json").simulate(truths, seed=5)
    estimate = dc.estimate(reports=reports, mechanism=mechanism)
    true = np.bincount(space.indices(truths), minlength=space.size) / 4000
    assert dc.kantorovich(estimate.distribution, true, space) < 0.2 * float(space.diameter)
    assert abs(estimate.distribution - true).sum() < 0.2
    assert estimate.describe() and estimate.interval(("cell", space.value(0))).low >= 0
    counts = np.bincount(space.indices(reports), minlength=space.size)
    assert np.allclose(dc.estimate(counts, mechanism).distribution, estimate.distribution)


@everywhere
def test_files_of_values_are_perturbed_and_estimated(space, tmp_path: Path):
    mechanism = dc.geometric(space, epsilon=3 / float(space.unit))
    mechanism.save(tmp_path / "m.json")
    values = [space.value(k % space.size) for k in range(300)]
    (tmp_path / "values.csv").write_text("value\n" + "".join(f"{v}\n" for v in values), encoding="utf-8")
    mechanism = tmp_path / "m.json"
    printed(
        "perturb", "value", "--data", tmp_path / "values.csv", "--mechanism", mechanism, "-o", tmp_path / "reports.csv"
    )
    out = json.loads(printed("estimate", tmp_path / "reports.csv", "--mechanism", mechanism, "--json"))
    assert out["people"] == 300
    (tmp_path / "wrong.csv").write_text("value\nnowhere\n", encoding="utf-8")
    wrong = tmp_path / "wrong.csv"
    with pytest.raises(DiscreetError):
        printed("perturb", "value", "--data", wrong, "--mechanism", mechanism, "-o", tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()


@everywhere
def test_a_collection_takes_such_values_and_reads_their_reports(space):
    mechanism = dc.geometric(space, epsilon=1 / float(space.unit))
    content = {
        "title": "t", "question": "q", "mechanisms": {"main": mechanism.to_json()}, "minimum_reports": 100,
    }  # fmt: skip
    collection = read_collection("c", content)
    assert collection.mechanisms["main"] == mechanism
    read = reader_of(space)
    sent = json.loads(json.dumps([space.value(k) for k in range(space.size)]))
    assert list(read(sent)) == list(range(space.size))
    for wrong in (["nowhere"], [None], [True], [-1]):
        with pytest.raises(DiscreetError):
            read(wrong)


def test_the_command_line_names_such_spaces(tmp_path: Path):
    ring, stops = tmp_path / "ring.json", tmp_path / "stops.csv"
    ring.write_text('{"kind": "ring", "n": 12}', encoding="utf-8")
    stops.write_text("from,to,length\nnorth,centre,1\ncentre,east,1\neast,harbour,2\n", encoding="utf-8")
    out = tmp_path / "m.json"
    assert "epsilon 1 per unit" in printed(
        "design", "--family", "geometric", "--space", ring, "--epsilon", 1, "-o", out
    )
    assert dc.load(out) == dc.geometric(dc.Ring(12), epsilon=1)
    assert "per unit of distance" in printed("verify", out)
    assert "Graph(4 values)" in printed("compare", "--space", stops, "--epsilon", 1)
    assert "mean absolute error" in printed("calibrate", "--family", "geometric", "--space", ring, "--mean-error", 1)
    (tmp_path / "matrix.csv").write_text("\n".join(["0.5,0.5,0,0"] * 4), encoding="utf-8")
    assert "Graph(4 values)" in printed("verify", tmp_path / "matrix.csv", "--space", stops, "--notion", "metric")


@pytest.mark.parametrize(
    ("space", "outputs", "chosen"),
    [(dc.Ring(12), "0, 6", [0, 6]), (dc.Range(0, 3, step="0.5"), "0,1.5,3", ["0.0", "1.5", "3.0"])],
    ids=["ring", "range"],
)
def test_a_design_reports_the_values_chosen_on_the_command_line(space, outputs: str, chosen: list, tmp_path: Path):
    file, made, lines = tmp_path / "space.json", tmp_path / "m.json", tmp_path / "outputs.txt"
    file.write_text(json.dumps(space.to_json()), encoding="utf-8")
    lines.write_text("\n".join(outputs.replace(" ", "").split(",")), encoding="utf-8")
    for typed in (outputs, f"@{lines}"):
        asked = ["design", "--space", str(file), "--epsilon", "1", "--loss", "L1", "--outputs", typed, "-o", str(made)]
        printed(*asked)
        assert list(dc.load(made).outputs.labels) == chosen
    delta = ["design", "--space", str(file), "--epsilon", "1", "--delta", "0.01", "--json", "-o", str(made)]
    printed(*delta)
    assert dc.load(made).certificate.delta == pytest.approx(0.01)


def test_surveys_of_such_values_are_planned():
    plan = dc.plan_collection(HOURS, "±3 points", epsilon=2)
    assert plan.people and plan.people > 1000


def test_comparisons_of_spaces_state_the_notion(tmp_path: Path):
    both = dc.compare(TREE, epsilon=1, families=["GM", "k-RR"])
    assert [row.name for row in both.rows] == ["GM", "k-RR"] and both.to_json()["space"]["kind"] == "tree"
    assert all(row.epsilon == pytest.approx(1) for row in both.rows)
    assert "per unit of distance" in both.rows[0].report().text() and both.rows[0].properties == ("RH", "CH", "WH")
    star = dc.Graph([("c", k) for k in range(6)])  # the geometric mechanism does not exist on it
    assert [row.name for row in dc.compare(star, epsilon="0.2").rows] == ["Exponential", "k-RR"]
    both.save(tmp_path / "page.html")
    mixed = dc.compare({"one": dc.geometric(HOURS, epsilon=1), "two": dc.exponential(HOURS, epsilon=1)})
    assert mixed["two"].costs["L1"] > mixed["one"].costs["L1"]
