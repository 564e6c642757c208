"""Spaces that users define: no subclass and no look-alike obtains a certificate that its distances do not support."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, Unsupported, WrongType
from discreet.spaces import Space
from support.refusals import refused
from support.tiers import examples


class Values:
    """A space made of a matrix of squared distances and a list of adjacent pairs, in the form the judge asks for."""

    name: ClassVar[str] = "values"
    noun: ClassVar[str] = "value"

    def __init__(self, squares, adjacent=(), unit=Fraction(1)):
        self.squares, self.adjacent, self.unit = np.array(squares), list(adjacent), unit
        self.size = len(self.squares)

    def index(self, value):
        return int(value[1:])

    def indices(self, values):
        return np.array([self.index(v) for v in values])

    def value(self, index):
        return f"v{index}"

    def values(self, indices):
        return np.array([self.value(i) for i in indices], dtype=object)

    def squared_distance(self, i, j):
        return self.squares[i, j]

    def distance(self, a, b):
        return float(self.unit) * math.sqrt(self.squares[self.index(a), self.index(b)])

    def neighbours(self):
        return tuple(np.array(end, dtype=np.int64) for end in zip(*self.adjacent, strict=True)) or None

    def to_json(self):
        return {"kind": self.name}


def tree(groups=2, siblings=2, near=1, far=3):
    """Squared distances between siblings (near) and between members of different groups (far)."""
    group = np.repeat(np.arange(groups), siblings)
    squares = np.where(group[:, None] == group[None, :], near**2, far**2)
    np.fill_diagonal(squares, 0)
    return squares


#: Siblings look alike; the two groups do not: the ratio 97 between them is epsilon log(97)/3 = 1.525 per unit.
BY_GROUP = np.array([[97, 1]] * 2 + [[1, 97]] * 2) / 98
SIBLINGS = [(0, 1), (2, 3)]


def log_ratio(table, i, j):
    return float(np.max(np.abs(np.log(table[i]) - np.log(table[j]))))


def least_epsilon(table, space):
    """The largest log ratio per unit of distance over all pairs, by the definition."""
    size = len(table)
    far = np.sqrt(space.squares.astype(float)) * float(space.unit)
    return max(log_ratio(table, i, j) / far[i, j] for i in range(size) for j in range(size) if i != j)


def test_stated_neighbours_prove_nothing_about_distances():
    space = Values(tree(), SIBLINGS)
    verdict = dc.verify(BY_GROUP, "metric", inputs=space)
    assert verdict.epsilon == pytest.approx(math.log(97) / 3) == pytest.approx(1.525, abs=1e-3)
    assert not verdict.holds(epsilon=1.5) and verdict.holds(epsilon=1.53)
    assert {verdict.witness.truth[1], verdict.witness.other[1]} & {"0", "1"} and verdict.ratio == pytest.approx(97)
    assert dc.verify(BY_GROUP, "metric", inputs=space, exact=False).epsilon == pytest.approx(math.log(97) / 3)
    certificate = dc.from_matrix(BY_GROUP, dc.Privacy(1.53, 0, "metric"), inputs=space).certificate
    assert certificate.epsilon >= math.log(97) / 3 - 1e-12 and certificate.ratio is None
    with pytest.raises(dc.errors.NotPrivate):
        dc.from_matrix(BY_GROUP, dc.Privacy(1, 0, "metric"), inputs=space)


def test_a_look_alike_becomes_a_whole_space_without_a_change_of_what_it_says():
    """A mechanism on it has a title, a file and an explanation, as on any other space."""
    space = Values(tree(), SIBLINGS)
    mechanism = dc.from_matrix(BY_GROUP, dc.Privacy(1.53, 0, "metric"), inputs=space)
    assert mechanism.inputs == space == mechanism.inputs and mechanism.inputs.adjacent == SIBLINGS
    assert mechanism.title.startswith("From matrix, 4 values") and mechanism.inputs.diameter == 3
    assert type(mechanism.inputs).__name__ == "Values" and isinstance(mechanism.inputs, Space)
    assert mechanism.inputs.neighbour_mean(np.ones(4)) is None and mechanism.inputs.to_json() == {"kind": "values"}
    assert "v0" in str(mechanism.inputs.value(0)) and set(mechanism.release(["v1"])) <= {0, 1}
    assert pickle.loads(pickle.dumps(mechanism)).inputs.size == 4
    assert dc.explain(mechanism).describe()
    assert dc.kantorovich([1, 0, 0, 0], [0, 0, 0, 1], space) == 3


def test_with_a_delta_edges_are_not_enough_even_where_they_generate_the_distance():
    line = Values(np.subtract.outer(np.arange(3), np.arange(3)) ** 2, [(0, 1), (1, 2)])
    table = [["9/10", "1/10", 0], ["8/10", "1/10", "1/10"], ["7/10", "1/10", "2/10"]]
    assert dc.verify(table, "metric", inputs=line).delta(1) == pytest.approx(0.2)
    assert dc.verify(table, "metric", inputs=dc.Counts(2)).delta(1) == pytest.approx(0.2)


@st.composite
def judged_spaces(draw):
    size = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    upper = np.triu(rng.integers(1, 30, (size, size)), 1)
    adjacent = [(i, j) for i in range(size) for j in range(i + 1, size) if rng.random() < 0.5]
    unit = Fraction(int(rng.integers(1, 9)), int(rng.integers(1, 9)))
    weights = rng.integers(1, 50, (size, 3))
    return Values(upper + upper.T, adjacent, unit), weights / weights.sum(axis=1, keepdims=True)


@examples(60)
@given(judged_spaces())
def test_the_least_epsilon_of_any_space_is_that_of_the_definition(case):
    space, table = case
    for exact in (True, False):
        verdict = dc.verify(table, "metric", inputs=space, exact=exact)
        assert verdict.epsilon == pytest.approx(least_epsilon(table, space), rel=1e-6)
        assert verdict.holds(verdict.epsilon)
        assert not verdict.holds(Fraction(verdict.epsilon) * Fraction(999, 1000))
    assert dc.verify(table, inputs=space).epsilon == pytest.approx(
        max(log_ratio(table, i, j) for i in range(len(table)) for j in range(len(table))), rel=1e-6
    )


@examples(30)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_steps_decide_between_counts_and_all_pairs_between_labels(n, seed):
    """The lemmas the judge uses for its own spaces, against the same space without a lemma."""
    weights = np.random.default_rng(seed).integers(1, 50, (n + 1, 4))
    table = weights / weights.sum(axis=1, keepdims=True)
    line = Values(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)) ** 2)
    apart = Values(1 - np.eye(n + 1, dtype=int))
    for built_in, own in ((dc.Counts(n), line), (dc.Labels(range(n + 1)), apart)):
        lemma, definition = (dc.verify(table, "metric", inputs=space) for space in (built_in, own))
        assert lemma.epsilon == pytest.approx(definition.epsilon, rel=1e-12)
        assert lemma.delta("1/10") == pytest.approx(definition.delta("1/10"), rel=1e-12)


def test_distances_are_read_once_and_frozen():
    class Forgetful(Values):
        calls = 0

        def squared_distance(self, i, j):
            self.calls += 1
            return super().squared_distance(i, j) * (1 if self.calls == 1 else 10**6)

        distance = None

    space = Forgetful(tree(), SIBLINGS)
    verdict = dc.verify(BY_GROUP, "metric", inputs=space)
    assert verdict.epsilon == pytest.approx(math.log(97) / 3)
    space.squares *= 100
    assert not verdict.holds(epsilon=1.5) and verdict.delta(1) > 0.5
    kept = np.ones(12, np.int64)

    class Sharing(Values):
        distance = None

        def squared_distance(self, i, j):
            return kept

    verdict = dc.verify(BY_GROUP, "metric", inputs=Sharing(tree()))
    kept[:] = 10**6
    assert not verdict.holds(epsilon=4) and verdict.holds(epsilon=5)


def test_a_subclass_has_none_of_the_lemmas():
    """Each of these answered for itself where the judge took it for the space it is derived from."""

    class Tree(dc.Labels):
        def squared_distance(self, i, j):
            return tree()[i, j]

    class Fine(dc.Counts):
        unit = Fraction(1, 10)

    class Short(dc.Grid):
        def squared_distance(self, i, j):
            return np.minimum(super().squared_distance(i, j), 1)

    three = dc.verify(BY_GROUP, "metric", inputs=Tree(["a", "b", "c", "d"]))
    assert three.epsilon == pytest.approx(math.log(97) / 3)
    noise = dc.geometric(4, alpha="1/2")
    fine = dc.Mechanism(Fine(4), Fine(4), noise.kernel, noise.certificate, "geometric")
    assert dc.verify(fine, "metric").epsilon == pytest.approx(10 * math.log(2))
    assert dc.verify(fine).epsilon == pytest.approx(math.log(2))
    response = dc.randomized_response(dc.Counts(4), epsilon=1)
    fine = dc.Mechanism(Fine(4), Fine(4), response.kernel, response.certificate, "response")
    assert dc.verify(fine, "metric").epsilon == pytest.approx(10, rel=1e-6)
    cells = dc.planar_geometric(dc.Grid(1, 4), epsilon=1)
    plain = dc.verify(cells, "metric").epsilon
    short = dc.Mechanism(Short(1, 4), Short(1, 4), cells.kernel, cells.certificate, "planar")
    assert dc.verify(short, "metric").epsilon > 2.5 * plain


def test_adjacency_is_what_the_space_says_and_the_verdict_says_so():
    space = Values(tree(), SIBLINGS)
    verdict = dc.verify(BY_GROUP, "central", inputs=space)
    assert verdict.epsilon == 0 and "adjacent values" in str(verdict)
    assert any("2 pairs" in note and "Values calls adjacent" in note for note in verdict.to_json()["notes"])
    assert dc.verify(BY_GROUP, inputs=space).notion == "local"  # nothing is left out unless it is asked for
    assert dc.verify(BY_GROUP, inputs=space).epsilon == pytest.approx(math.log(97))
    labels = dc.verify(BY_GROUP, "central", inputs=dc.Labels("abcd"[i] for i in range(4)))
    assert labels.epsilon == pytest.approx(math.log(97)) and "between any two labels" in str(labels)


@pytest.mark.parametrize(
    "adjacent", [[(0, 4)], [(0, -1)], [(1, 1)]], ids=["beyond the last", "below the first", "itself"]
)
def test_adjacent_pairs_are_pairs_of_values(adjacent):
    with refused(InvalidInput, "inputs"):
        dc.verify(BY_GROUP, "central", inputs=Values(tree(), adjacent))


def test_no_adjacent_pair_is_no_guarantee():
    class Empty(Values):
        def neighbours(self):
            return np.array([], np.int64), np.array([], np.int64)

    for space in (Values(tree()), Empty(tree())):
        with refused(Unsupported, "notion"):
            dc.verify(BY_GROUP, "central", inputs=space)


def asymmetric():
    squares = tree()
    squares[0, 3] = 1
    return squares


@pytest.mark.parametrize(
    "squares",
    [asymmetric(), -tree(), tree().astype(float), np.where(tree() > 1, np.inf, 1.0), np.full((4, 4), np.nan)],
    ids=["another distance back", "negative", "floats", "infinite", "not numbers"],
)
def test_distances_that_are_not_distances_are_refused(squares):
    with refused(InvalidInput, "inputs"):
        dc.verify(BY_GROUP, "metric", inputs=Values(squares, SIBLINGS))


def test_a_space_that_contradicts_itself_is_refused():
    class Longer(Values):
        def distance(self, a, b):
            return 10 * super().distance(a, b)

    class Renumbered(Values):
        def index(self, value):
            return 3 - super().index(value)

    class Ranks(dc.Counts):
        def distance(self, a, b):
            return abs(a - b) / 10

    for space in (Longer(tree()), Renumbered(tree()), Ranks(3)):
        with refused(InvalidInput, "inputs"):
            dc.verify(BY_GROUP, "metric", inputs=space)
    with refused(WrongType, "inputs"):
        dc.verify(BY_GROUP, inputs=["a", "b", "c", "d"])


def test_values_at_distance_zero_must_look_alike():
    assert math.isinf(dc.verify(BY_GROUP, "metric", inputs=Values(np.zeros((4, 4), int))).epsilon)
    two_places = Values(np.where(tree() > 1, 9, 0))
    assert dc.verify(BY_GROUP, "metric", inputs=two_places).epsilon == pytest.approx(math.log(97) / 3)


# ------------------------------------------------------------------------------------------------ named rows

COLOURS = [["6/10", "3/10", "1/10"], ["3/10", "4/10", "3/10"], ["1/10", "3/10", "6/10"]]


def colours(names, columns=("x", "y", "z")):
    return pd.DataFrame(COLOURS, index=list(names), columns=list(columns))


def csv(tmp_path, names, heading="truth,0,1,2"):
    file = tmp_path / "colours.csv"
    file.write_text(f"{heading}\n" + "".join(f"{n},{','.join(row)}\n" for n, row in zip(names, COLOURS, strict=True)))
    return file


def test_named_rows_are_labels(tmp_path):
    names = ("red", "green", "blue")
    verdicts = [dc.verify(colours(names)), dc.verify(csv(tmp_path, names, "truth,x,y,z"))]
    for verdict in verdicts:
        assert verdict.inputs == dc.Labels(names) and verdict.notion == "local"
        assert verdict.epsilon == pytest.approx(math.log(6)) == pytest.approx(1.792, abs=1e-3)
        assert verdict.witness.truth in names and verdict.witness.report in ("x", "y", "z")
        note = next(note for note in verdict.to_json()["notes"] if "labels" in note)
        assert "red, green, blue" in note and "red, green, blue" in verdict.describe()
        assert "any two" in str(verdict)
    for subject in (csv(tmp_path, names), csv(tmp_path, names, "truth,red,green,blue")):
        assert set(dc.verify(subject).properties) == {"RH", "CH", "F", "WH"}  # nothing that needs an order
    assert set(dc.check(colours(names, names))) == {"RH", "CH", "F", "WH"}
    mechanism = dc.from_matrix(colours(names))
    assert mechanism.certificate.notion == "local" and mechanism.inputs == dc.Labels(names)
    assert mechanism.outputs == dc.Labels(["x", "y", "z"])
    assert dc.from_matrix(colours(names, (0, 1, 2))).outputs == dc.Labels(names)
    floats = pd.DataFrame(np.array([[0.6, 0.4], [0.3, 0.7]]), index=["no", "yes"])
    assert set(dc.check(floats)) == {"RH", "CH", "F", "WH"}


@pytest.mark.parametrize("names", [(0, 1, 2), ("0", "1", "2"), (5, 6, 7), (0.0, 1.0, 2.0)])
def test_consecutive_numbers_are_counts(names, tmp_path):
    for verdict in (dc.verify(colours(names)), dc.verify(csv(tmp_path, names))):
        assert verdict.notion == "central" and verdict.inputs == dc.Counts(2)
        assert verdict.ratio == 3 and not any("labels" in note for note in verdict.notes)


@pytest.mark.parametrize("names", [(0, 2, 4), (2, 1, 0), ("0", "1", "many"), ("none", "one", "two"), (0.5, 1.5, 2.5)])
def test_other_numbers_are_labels(names, tmp_path):
    for verdict in (dc.verify(colours(names)), dc.verify(csv(tmp_path, names))):
        assert verdict.notion == "local" and verdict.ratio == 6


def test_rows_named_like_the_values_of_a_space_have_their_order():
    space = Values(tree(siblings=1, groups=3), [(0, 1)])
    assert dc.verify(colours(["v0", "v1", "v2"]), "metric", inputs=space).epsilon == pytest.approx(math.log(6) / 3)
    with refused(InvalidInput, "inputs"):
        dc.verify(colours(["v0", "v2", "v1"]), "metric", inputs=space)
    assert dc.verify(colours(["low", "middle", "high"]), inputs=dc.Counts(2)).notion == "central"


def test_no_mechanism_for_counts_is_certified_on_a_space_that_says_what_is_adjacent():
    class Fewer(dc.Counts):
        def neighbours(self):
            return np.array([0]), np.array([1])

    rows = [["1/2", "1/2"], ["1/4", "3/4"], ["1", "0"]]
    with refused(Unsupported, "inputs"):
        dc.from_matrix(rows, inputs=Fewer(2))
    assert dc.from_matrix(rows[:2], inputs=dc.Counts(1)).certificate.notion == "central"


@pytest.mark.parametrize("unit", [10**400, Fraction(1, 10**400), Fraction(10**201), Fraction(1, 10**320)], ids=str)
@pytest.mark.parametrize("exact", [True, False])
def test_a_unit_beyond_doubles_is_refused(unit, exact):
    with refused(InvalidInput, "unit", token="1e200"):
        dc.verify(BY_GROUP, "metric", inputs=Values(tree(), SIBLINGS, unit), exact=exact)


@pytest.mark.parametrize("unit", [Fraction(10**200), Fraction(1, 10**200)], ids=["large", "small"])
def test_the_largest_and_smallest_units_are_judged(unit):
    verdict = dc.verify(BY_GROUP, "metric", inputs=Values(tree(), SIBLINGS, unit))
    assert verdict.epsilon * float(unit) == pytest.approx(math.log(97) / 3) and verdict.describe()


@pytest.mark.parametrize("far", [10**400, Fraction(10**400), "far", None], ids=["integer", "fraction", "text", "none"])
def test_a_distance_that_no_float_holds_is_refused(far, monkeypatch):
    monkeypatch.setattr(Values, "distance", lambda space, a, b: far)
    with refused(InvalidInput, "inputs", token="distance(a, b)"):
        dc.verify(BY_GROUP, "metric", inputs=Values(tree(), SIBLINGS))
