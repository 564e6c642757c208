"""A researcher designs mechanisms, and judges those of others."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from support.command_line import run
from support.journeys import run_json

ALPHA = "10/11"


def test_mechanisms_are_judged_designed_compared_and_kept(tmp_path: Path) -> None:
    # A colleague sends a matrix of probabilities. How private is it?
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("2/3,1/6,1/6\n1/3,1/3,1/3\n1/6,1/6,2/3\n")
    verdict = run_json("verify", matrix)
    assert verdict["ratio"] == "2" and verdict["epsilon"] == pytest.approx(math.log(2))
    assert run_json("verify", matrix, "--epsilon", 0.7)["holds"] is True

    # The colleague claimed epsilon 1/2. That is refuted by two true counts and a report, which anyone can divide.
    refutation = run_json("verify", matrix, "--epsilon", 0.5, code=1)
    assert refutation["holds"] is False
    witness = refutation["witness"]
    assert witness["probability"] / witness["other_probability"] == pytest.approx(2) and math.exp(0.5) < 2
    v = dc.verify([["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    assert (
        v.ratio == 2 and not v.holds(epsilon=0.5) and v.delta(0.5) == pytest.approx(refutation["judged"]["least_delta"])
    )
    assert v.witness is not None and (v.witness.truth, v.witness.other) == (witness["truth"], witness["other"])

    # A better one: the best for the absolute error that never guesses worse than chance, and whose columns fall off.
    best = tmp_path / "best.json"
    run("design", "-n", 6, "--alpha", ALPHA, "--loss", "L1", "--properties", "WH,CM", "-o", best)
    assert run_json("check", best, "--require", "WH,CM")["holds"] is True
    # The geometric mechanism has neither.
    geometric = tmp_path / "geometric.json"
    run("design", "--family", "geometric", "-n", 6, "--alpha", ALPHA, "-o", geometric)
    checks = run_json("check", geometric, "--require", "WH,CM", code=1)["properties"]
    assert [checks[code]["holds"] for code in ("WH", "CM")] == [False, False]

    # Compared with known mechanisms of the same epsilon, it costs less than the one that has these properties too.
    comparison = run_json("compare", best, "--alpha", ALPHA, "--families", "GM,EM", "--loss", "L1")
    costs = {row["name"]: row["costs"]["L1"] for row in comparison["mechanisms"]}
    assert len(costs) == 3 and costs["EM"] > dc.cost(dc.load(best), "L1") > 2
    assert [row["epsilon"] for row in comparison["mechanisms"]] == [pytest.approx(math.log(1.1))] * 3

    # How much epsilon does "within 2 of the truth, nine times out of ten" take?
    tuned = tmp_path / "tuned.json"
    calibration = run_json("calibrate", "--family", "geometric", "-n", 6, "--within", "2:0.9", "-o", tuned)
    assert calibration["achieved"] >= 0.9 > calibration["missed_with"]
    assert run_json("verify", tuned)["epsilon"] == pytest.approx(calibration["epsilon"])

    # What was saved is the mechanism itself: the same exact probabilities, proved again when it is read.
    m = dc.load(best)
    m.save(tmp_path / "copy.json")
    copy = dc.load(tmp_path / "copy.json")
    assert copy.certificate.ratio == Fraction(11, 10)
    assert all(copy.probability(x, y) == m.probability(x, y) for x in range(7) for y in range(7))
    assert 0 <= copy.release(3) <= 6
    # A file that was altered to claim more privacy is refuted.
    text = tuned.read_text()
    parameter = dc.load(tuned).to_json()["parameters"]["alpha"]
    tuned.write_text(text.replace(f'"alpha": "{parameter}"', '"alpha": "1/2"'))
    assert tuned.read_text() != text
    assert run_json("verify", tuned, code=1)["holds"] is False
