"""Products of mechanisms: tuples in, tuples out, and every promise that a mechanism makes."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.errors import Altered, DiscreetError, ForeignValue, InvalidInput, NotPrivate, Unsupported, WrongType
from discreet.exact.bits import SeededBits
from discreet.exact.kernels import kernel_from
from discreet.mechanism import fingerprint
from support.command_line import run
from support.grids import every_case
from support.refusals import refused

YES = dc.randomized_response(["yes", "no"], alpha="1/3")

MADE = {
    "labels and counts": YES * dc.geometric(3, alpha="1/2"),
    "three": YES * dc.randomized_response(3, alpha="1/2") * dc.explicit_fair(2, epsilon=1),
    "points": dc.projective_response(["a", "b", "c", "d"], epsilon=1) * YES,
    "a map": dc.planar_geometric(dc.Grid(2, 3, cell=100.0), epsilon=0.01) * YES,
    "a matrix": dc.from_matrix([["1/2", "1/3", "1/6"], ["1/4", "1/4", "1/2"]]) * YES,
}


all_products = every_case("m", MADE.values(), ids=list(MADE))


# ------------------------------------------------------------------------------------------------ probabilities


@all_products
def test_a_probability_is_the_product_of_those_of_the_parts(m: dc.Mechanism) -> None:
    for i in range(m.inputs.size):
        x = m.inputs.value(i)
        row = [m.probability(x, m.outputs.value(j)) for j in range(m.outputs.size)]
        assert sum(row) == 1
        for j, found in enumerate(row):
            y, expected = m.outputs.value(j), Fraction(1)
            for one, own, reported in zip(m.factors, x, y, strict=True):
                expected *= one.probability(own, reported)
            assert found == expected == m.kernel.table().probability(i, j)
            assert m.matrix[i, j] == pytest.approx(float(found), rel=1e-12)


@all_products
def test_forward_and_backward_are_the_products_with_the_matrix(
    m: dc.Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the parts' matrices, and by their structure as where they are large."""
    rng = np.random.default_rng(3)
    p, v = rng.dirichlet(np.ones(m.inputs.size)), rng.normal(size=m.outputs.size)
    for most in (1 << 20, 0):
        monkeypatch.setattr("discreet.exact.products.kernel.MAX_DENSE_ENTRIES", most)
        assert np.allclose(m.forward(p), p @ m.matrix, rtol=1e-11, atol=1e-14)
        assert np.allclose(m.backward(v), m.matrix @ v, rtol=1e-11, atol=1e-13)


def test_factors_are_chained_not_nested() -> None:
    a, b, c = dc.geometric(2, alpha="1/2"), YES, dc.uniform(1)
    assert (a * b) * c == a * (b * c) == a * b * c
    assert [one.family for one in (a * (b * c)).factors] == ["geometric", "randomized_response", "uniform"]


# ------------------------------------------------------------------------------------------------ drawing


@all_products
def test_reports_of_tuples_are_tuples_of_the_space(m: dc.Mechanism) -> None:
    truths = [m.inputs.value(k % m.inputs.size) for k in range(50)]
    for x in truths[:5]:
        report = m.release(x)
        assert isinstance(report, tuple) and m.probability(x, report) > 0
    reports = m.release(truths)
    assert reports.shape == (50,) and m.outputs.indices(reports).shape == (50,)
    assert all(m.probability(x, y) > 0 for x, y in zip(truths, reports, strict=True))


@all_products
def test_drawing_follows_the_probabilities(m: dc.Mechanism) -> None:
    size = 20_000
    for i in (0, m.inputs.size - 1):
        drawn = m.outputs.indices(m.simulate([m.inputs.value(i)] * size, seed=17))
        expected = size * m.matrix[i]
        assert (np.abs(np.bincount(drawn, minlength=m.outputs.size) - expected) <= 5 * np.sqrt(expected) + 5).all()


def test_parts_are_drawn_independently() -> None:
    """The same two coins twice: their errors must not go together."""
    both = YES * YES
    reports = both.simulate([("yes", "yes")] * 40_000, seed=3)
    same = np.mean([a == b for a, b in reports])
    assert same == pytest.approx(0.75**2 + 0.25**2, abs=5 * 0.5 / 200)


@all_products
def test_seeded_reports_do_not_depend_on_how_many_are_drawn_at_a_time(m: dc.Mechanism) -> None:
    truths = np.arange(60) % m.inputs.size
    sampler = m.kernel.sampler()
    at_once, bits = sampler.draw(truths, SeededBits(5)), SeededBits(5)
    pieces = [sampler.draw(truths[k : k + 7], bits) for k in range(0, 60, 7)]
    assert (np.concatenate(pieces) == at_once).all()
    assert (m.outputs.indices(m.simulate(m.inputs.values(truths), seed=5)) == at_once).all()


@all_products
def test_other_seeds_and_other_releases_differ(m: dc.Mechanism) -> None:
    truths = [m.inputs.value(0)] * 300
    assert any(a != b for a, b in zip(m.simulate(truths, seed=1), m.simulate(truths, seed=2), strict=True))
    assert any(a != b for a, b in zip(m.release(truths), m.release(truths), strict=True))


# ------------------------------------------------------------------------------------------------ the space

SPACE = dc.ProductSpace((dc.Labels(["yes", "no"]), dc.Counts(3)))


def test_tuples_come_as_lists_arrays_tables_and_columns() -> None:
    rows = [("yes", 3), ("no", 0), ("no", 2)]
    answers, counts = ["yes", "no", "no"], [3, 0, 2]
    array = np.empty(3, dtype=object)
    array[:] = rows
    table = {"answer": answers, "visits": counts}
    given = [rows, array, np.array(rows, dtype=object), pd.DataFrame(table), pl.DataFrame(table)]
    given += [(answers, counts), (pd.Series(answers), np.array(counts)), [list(row) for row in rows]]
    for values in given:
        assert SPACE.indices(values).tolist() == [3, 4, 6]
    assert SPACE.indices(("no", 2)).shape == () and int(SPACE.indices(("no", 2))) == 6
    assert SPACE.values(np.array([3, 4, 6])).tolist() == rows


def test_every_index_is_that_of_its_value() -> None:
    assert [SPACE.index(SPACE.value(k)) for k in range(SPACE.size)] == list(range(8))
    assert dc.ProductSpace.from_json(json.loads(json.dumps(SPACE.to_json()))) == SPACE


@every_case(
    ("values", "error"),
    [
        (("yes", 4), ForeignValue),
        (("maybe", 1), ForeignValue),
        (("yes",), WrongType),
        ("yes", WrongType),
        ([("yes", 1), ("no",)], WrongType),
        ((["yes", "no"], [1]), InvalidInput),
        (pd.DataFrame({"answer": ["yes"]}), WrongType),
        ([("yes", 1.0)], WrongType),
        (None, WrongType),
    ],
)
def test_what_is_no_tuple_of_the_space_is_refused(values: object, error: type[DiscreetError]) -> None:
    with pytest.raises(error):
        SPACE.indices(values)


def test_what_has_no_meaning_for_tuples_is_refused() -> None:
    with refused(Unsupported, token="m.on(Counts(n))"):
        dc.two_sided_geometric(epsilon=1) * YES
    with refused(InvalidInput, "parts", given=1):
        dc.ProductSpace((dc.Counts(2),))
    for notion in ("central", "metric"):
        with refused(Unsupported, "notion"):
            dc.verify(YES * YES, notion)
    with refused(Unsupported, token="distance"):
        SPACE.distance(("yes", 1), ("no", 1))
    with pytest.raises(TypeError):
        YES * 2


# ------------------------------------------------------------------------------------------------ files


@all_products
def test_a_file_gives_back_the_identical_mechanism(m: dc.Mechanism, tmp_path: Path) -> None:
    m.save(tmp_path / "m.json")
    for other in (dc.load(tmp_path / "m.json"), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert other == m and hash(other) == hash(m) and other.certificate == m.certificate
        assert [one.family for one in other.factors] == [one.family for one in m.factors]
        x = [m.inputs.value(0)] * 20
        assert (other.simulate(x, seed=3) == m.simulate(x, seed=3)).all()
    dc.load(tmp_path / "m.json").save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    assert kernel_from(json.loads(json.dumps(m.kernel.to_json()))).to_json() == m.kernel.to_json()


def test_a_file_that_claims_more_or_holds_other_parts_is_refused(tmp_path: Path) -> None:
    made = (YES * dc.geometric(3, alpha="1/2")).to_json()

    def refused(error: type[DiscreetError], **changes: object) -> None:
        content = {**made, **changes}
        content["sha256"] = fingerprint(content)
        (tmp_path / "m.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(error):
            dc.load(tmp_path / "m.json")

    refused(NotPrivate, certificate={**made["certificate"], "epsilon": 1.0})
    refused(Altered, factors=made["factors"][:1])
    refused(Altered, factors=[])
    refused(Altered, factors=made["factors"][::-1])
    refused(Altered, factors=[{**made["factors"][0], "parameters": {}}, made["factors"][1]])
    refused(DiscreetError, family="geometric")


@all_products
def test_it_says_what_it_is(m: dc.Mechanism) -> None:
    assert "product(" in repr(m) and len(repr(m)) < 200
    assert " × " in m.title and "together epsilon" in m.title
    assert "between any two" in m.describe()


def test_the_command_line_says_that_files_hold_one_answer_a_column(tmp_path: Path) -> None:
    (YES * YES).save(tmp_path / "both.json")
    (tmp_path / "people.csv").write_text("a,b\nyes,no\n", encoding="utf-8")
    words = ["--mechanism", tmp_path / "both.json"]
    for verb in (
        ["perturb", "a", "--data", tmp_path / "people.csv", "-o", tmp_path / "r.csv"],
        ["estimate", tmp_path / "people.csv"],
    ):
        assert "2 answers of each person" in run(*verb, *words, code=2).stderr
    assert "epsilon = 2.1972" in run("verify", tmp_path / "both.json").stdout
