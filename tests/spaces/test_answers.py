"""What a space answers for itself is what its values and distances say."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from discreet.spaces import (
    Counts,
    Graph,
    Grid,
    Integers,
    Labels,
    MetricSpace,
    ProductSpace,
    Range,
    Ring,
    Space,
    Tree,
    space_from,
)
from support.oracles import linear_minimum

SPACES: list[Space] = [
    Counts(4), Grid(3, 4, cell=2.5), Grid(1, 5, cell="1/3"), Labels(["a", "b", "c"]), Labels([3, 1, 2]),
    Grid.from_box(48.80, 2.25, 48.81, 2.27, cell=400), Integers(), Integers(low=-3),
    ProductSpace((Labels(["a", "b"]), Counts(2))), Range(0, 4), Range("-1/2", "3/2", step="1/4"), Ring(6),
    Graph([("a", "b", "1/2"), ("b", "c", 2), ("a", "c", 9), ("c", 4)]), Tree({"a": None, "b": "a", "c": "a", "d": "b"}),
    Tree([None, 0, 0, 1, 1], lengths={3: "3/2"}),
    MetricSpace(["a", "b", "c"], [[0, 2, 3], [2, 0, "3/2"], [3, "3/2", 0]]),
    MetricSpace("xyz".__iter__(), [[0, 1, 2], [1, 0, 1], [2, 1, 0]], edges=[("x", "y"), ("y", "z")]),
    MetricSpace.from_points({"a": (0, 0), "b": ("1/2", 1), 3: (4, 4)}),
    ProductSpace((Range(0, 2), Ring(3)), norm="l1"), ProductSpace((Range(0, 1, "0.5"), Grid(2, 2, cell=3)), norm="l2"),
    ProductSpace((Counts(2), Grid(2, 2)), norm="linf"),
]  # fmt: skip
FINITE = [space for space in SPACES if space.size is not None and getattr(space, "norm", "") is not None]
everywhere = pytest.mark.parametrize("space", SPACES, ids=repr)
finite = pytest.mark.parametrize("space", FINITE, ids=repr)


class Clock(Space):
    """A space in one class: a clock, where the distance is the shorter way round."""

    name = "ring"
    noun = "hour"

    def __init__(self, hours: int) -> None:
        self.hours = hours

    @property
    def size(self) -> int:
        return self.hours

    def indices(self, values: object) -> np.ndarray:
        return np.asarray(values) % self.hours

    def squared_distance(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        steps = np.abs(np.asarray(i) - np.asarray(j))
        return np.minimum(steps, self.hours - steps) ** 2

    def to_json(self) -> dict[str, object]:  # type: ignore[override]
        return {"kind": self.name, "hours": self.hours}


@finite
def test_the_diameter_is_the_largest_distance_rounded_up(space: Space) -> None:
    assert space.size is not None
    first, second = np.triu_indices(space.size, 1)
    largest = math.sqrt(int(space.squared_distance(first, second).max())) * float(space.unit)
    assert largest * (1 - 1e-12) <= float(space.diameter) <= largest + float(space.unit) * 1e-6


@finite
def test_a_distance_is_the_same_as_an_exact_number(space: Space) -> None:
    assert space.size is not None
    for i in range(space.size):
        far = float(space.distance(space.value(i), space.value(0)))
        assert far == pytest.approx(math.sqrt(space.exact_squared_distance(i, 0)) * float(space.unit))


@finite
def test_values_that_have_neighbours_have_a_place_for_each(space: Space) -> None:
    assert space.size is not None
    assert len(space.axes) == len(space.coordinates()) and all(len(x) == space.size for x in space.coordinates())
    assert math.prod(space.axes) == (space.size if space.axes else 1)
    p = np.arange(float(space.size)) ** 2
    mean, highest = space.neighbour_mean(p), space.neighbour_maximum(p)
    assert (highest >= p).all() and (mean is not None or not space.axes)
    if space.axes:  # by the definition, one value after the other
        assert mean is not None
        for place in np.ndindex(*space.axes):
            around = [
                p.reshape(space.axes)[tuple(np.clip(np.add(place, step), 0, np.subtract(space.axes, 1)))]
                for step in np.concatenate([np.eye(len(space.axes), dtype=int), -np.eye(len(space.axes), dtype=int)])
            ]
            assert mean.reshape(space.axes)[place] == pytest.approx(np.mean(around))
            near = tuple(slice(max(k - 1, 0), k + 2) for k in place)
            assert highest.reshape(space.axes)[place] == p.reshape(space.axes)[near].max()


@pytest.mark.parametrize("space", [Counts(5), Labels(list("abcdef")), *SPACES], ids=repr)
def test_a_formula_for_transport_is_the_least_cost(space: Space) -> None:
    if space.size is None or space.transport_cost(np.zeros(space.size)) is None:
        return
    rng, n = np.random.default_rng(3), space.size
    p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    i, j = np.indices((n, n))
    costs = np.sqrt(space.squared_distance(i, j)).ravel() * float(space.unit)
    moved = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    least = linear_minimum(costs, A_eq=moved, b_eq=np.concatenate([p, q]))
    assert space.transport_cost(p - q) == pytest.approx(least, abs=1e-9)


def test_only_a_line_has_ends_and_shares_its_distance() -> None:
    assert [space.ends for space in (Counts(4), Integers(), Integers(low=2))] == [(0, 4), (None, None), (2, None)]
    assert all((space.ends is not None) is space.is_line for space in SPACES)
    assert Counts(4).shares_distance(Integers()) and Integers().shares_distance(Counts(2))
    assert not Counts(2).shares_distance(Labels([0, 1, 2])) and not Labels([0, 1, 2]).shares_distance(Counts(2))
    assert Grid(2, 2).shares_distance(Grid(2, 2)) and not Grid(2, 2).shares_distance(Grid(2, 3))


def test_distances_of_far_counts_are_exact() -> None:
    assert Integers().exact_squared_distance(-(2**62), 2**62) == 2**126


def test_only_labels_that_are_not_all_numbers_are_text() -> None:
    assert [space.is_text for space in (Labels(["a", "b"]), Labels([1, "b"]), Labels([1, 2]), Counts(3))] == [
        True, True, False, False,
    ]  # fmt: skip


@everywhere
def test_every_space_has_a_title_and_is_read_from_its_description(space: Space) -> None:
    assert space.title and (isinstance(space, Range) or space.size is None or space.noun in space.title)
    again = space_from(json.loads(json.dumps(space.to_json())))
    assert again == space and hash(again) == hash(space) and pickle.loads(pickle.dumps(space)) == space


def test_a_new_space_is_one_class() -> None:
    ring = Clock(12)
    assert ring.title == "12 hours" and ring.distance(11, 2) == 3.0 and ring.diameter == 6
    assert ring.index(14) == 2 and ring.value(2) == 2 and ring.unit == Fraction(1)
    assert ring.ends is None and ring.as_grid is None and ring.coordinates() == () and ring.neighbours() is None
    assert ring.neighbour_mean(np.ones(12)) is None and ring.transport_cost(np.zeros(12)) is None
    assert ring.neighbour_maximum(np.arange(12)).tolist() == list(range(12))
