"""Designs and p-tables at the edges: losses below zero, requirements that ask nothing, hard numbers, odd files."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet import requirements
from discreet.errors import Conflict, InvalidInput, UnreadableFile
from discreet.mechanism import fingerprint
from discreet.ptables.table import PTable


def _details(mechanism):
    return mechanism.certificate.details


# ------------------------------------------------------------------------------------------------ the answer


@pytest.mark.parametrize("delta", [0, "1/10"])
def test_the_worst_loss_may_be_below_zero(delta):
    """Shifting every loss by a constant shifts the least worst case by it, and changes nothing else."""
    losses = np.array([[-2, 1, 0], [0, -3, -1], [1, 2, -2]])
    options = {"alpha": "3/4", "delta": delta, "worst_case": True}
    low, high = (dc.design(3 - 1, loss=losses + shift, **options) for shift in (-4, 3))
    assert Fraction(_details(high)["cost"]) - Fraction(_details(low)["cost"]) == 7
    assert _details(low)["least"] == pytest.approx(_details(high)["least"] - 7, abs=1e-9)
    assert _details(low)["gap"] < 1e-9


@pytest.mark.parametrize(("alpha", "n"), [("1/100", 6), ("1/20", 10), ("1/10", 20)])
def test_probabilities_that_may_not_fall_are_no_conflict(alpha, n):
    """Only the uniform mechanism has equal steps; it is private at every alpha."""
    m = dc.design(n, alpha=alpha, loss="L1", properties=["RM", "steps>=1"])
    assert {m.probability(i, j) for i in range(n + 1) for j in range(n + 1)} == {Fraction(1, n + 1)}


def test_a_conflict_with_equal_steps_names_what_clashes():
    with pytest.raises(Conflict) as caught:
        dc.design(6, alpha="1/1000", loss="L2", properties=["steps>=1", "CH", "support<=2", "WH", "F"])
    assert {"steps>=1", "support<=2"} == set(caught.value.requirements) - {"privacy"}


def test_tied_tails_are_let_go_where_they_cost():
    m = dc.design(20, alpha="1/1000", loss="L1", properties=["RM", "CM", "steps>=9/10"])
    assert _details(m)["gap"] < 1e-9


def test_losses_that_favour_far_reports_are_met_at_small_alpha():
    """In scaled numbers these are out of the solver's range: 11% dearer, and a bound of minus 10^14 without it."""
    rows = "43024031 20125313 30553001 52334502 25212242 12550242 31243240 42552355"
    losses = np.array([[int(c) for c in row] for row in rows.split()])
    m = dc.design(7, alpha="1/1000", loss=losses, properties="support<=5")
    assert _details(m)["cost_about"] == pytest.approx(1.1274983756, abs=1e-9) and _details(m)["gap"] < 1e-9
    free = dc.design(7, alpha="1/1000", loss=losses)
    assert 0 <= _details(free)["gap"] < 0.01


# ------------------------------------------------------------------------------------------------ requirements


@pytest.mark.parametrize("properties", ["support<=1", "support<=5", ["F", "RM", "support<=3"]])
@pytest.mark.parametrize("delta", [0, "1/100"])
def test_a_support_that_excludes_nothing_is_met(properties, delta):
    m = dc.design(1, alpha="3/4", delta=delta, loss="L1", properties=properties)
    assert all(dc.check(m, requirements.resolve(properties)).values())


@pytest.mark.parametrize(
    ("n", "zeros", "worst"), [(2, "zeros[1-1]", True), (1, "zeros[0-0]", False), (1, "zeros[1-0]", False)]
)
def test_structural_zeros_on_and_beside_the_diagonal_have_a_bound(n, zeros, worst):
    m = dc.design(n, alpha="199/200", delta="1/100", properties=[zeros], worst_case=worst)
    assert dc.check(m, requirements.resolve(zeros))[zeros].holds
    assert 0 <= _details(m)["gap"] < 1e-9


@pytest.mark.parametrize(
    "request_",
    [
        {"n": 2, "alpha": "999999/1000000", "delta": "1/1000000", "loss": "L0_1", "properties": ["mse<=1/2", "S"]},
        {"n": 5, "alpha": "199/200", "delta": "1/1000000", "loss": "L2", "properties": ["truth>=1/2", "bias<=1/2"]},
        {"n": 4, "alpha": "1/2", "delta": "1/1000000", "loss": "L1", "properties": ["bias<=1/2", "CH"]},
    ],
)
def test_what_the_solver_gives_up_on_is_tried_another_way(request_):
    """The solver ended with "Unknown" here, which is no answer to a person."""
    with pytest.raises(Conflict):
        dc.design(**request_)


def test_a_support_must_be_whole():
    with pytest.raises(InvalidInput, match=r"must be a whole number.*'1\.5'"):
        dc.design(4, alpha="1/2", properties="support<=1.5")


# ------------------------------------------------------------------------------------------------ files


def _forged(mechanism, path, alter):
    content = mechanism.describe()
    alter(content)
    del content["sha256"]
    path.write_text(json.dumps({**content, "sha256": fingerprint(content)}))
    return path


@pytest.mark.parametrize(
    "alter",
    [
        lambda c: c["certificate"]["details"].update(least=99.0),
        lambda c: c["certificate"]["details"].update(cost="1/100", cost_about=0.01),
        lambda c: c["parameters"].update(n=50),
    ],
    ids=["least above cost", "wrong cost", "wrong n"],
)
def test_a_file_with_an_impossible_cost_is_refused(tmp_path, alter):
    m = dc.design(6, alpha="9/10", loss="L1", properties=["WH", "CM"])
    with pytest.raises(UnreadableFile):
        dc.load(_forged(m, tmp_path / "m.json", alter))


# ------------------------------------------------------------------------------------------------ p-tables


@pytest.mark.parametrize("number", ["1e-999999999", "1e99999", "1/3", "nan", "1_0", "0." + "1" * 5000])
def test_numbers_of_tables_are_short(tmp_path, number):
    file = tmp_path / "t.txt"
    file.write_text(f"i;j;p;v;p_int_ub\n0;0;1;0;{number}\n")
    with pytest.raises(UnreadableFile, match="not a number with a decimal point"):
        dc.read_ptable(file)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("1,0,0\n1,99999999999,1\n", "ckey must be below"),
        ("1,0,0\n1,0,1\n1,1,0\n", "earlier line"),
        ("1,0,-5\n", "would be negative"),
    ],
)
def test_ons_tables_that_cannot_be_meant_are_refused(tmp_path, lines, why):
    file = tmp_path / "t.csv"
    file.write_text(f"pcv,ckey,pvalue\n{lines}")
    with pytest.raises(UnreadableFile, match=why):
        dc.read_ptable(file)


def test_a_superstar_table_is_read_as_it_was_written(tmp_path):
    """SmallN has no place in the format, so the file beside it states it."""
    blocks = (((0, 256),), ((-1, 64), (0, 128), (1, 64)), ((-2, 32), (0, 192), (2, 32)), ((-1, 100), (0, 56), (1, 100)))
    table = PTable(blocks, 256)
    read = dc.read_ptable(table.write(tmp_path / "t.pert"))
    assert [read.law(n) for n in range(9)] == [table.law(n) for n in range(9)]


def test_a_proof_for_a_shorter_reach_is_none_for_the_whole(monkeypatch):
    """The best table came from a shorter reach, and the search over the whole one ended early."""
    from discreet.optimise.noise import key_rounding

    searched = []

    def search(wanted, keys, known):
        searched.append(wanted.reach)
        return real(wanted, keys, known)[0], wanted.reach == 1

    real = key_rounding.best_table
    monkeypatch.setattr(key_rounding, "best_table", search)
    monkeypatch.setattr(key_rounding, "_reaches", lambda *_: [1, 2])
    assert not dc.design_ptable(1, 2, stay="1/2", keys=16).about["proved_best"]
    assert searched == [1, 2]
