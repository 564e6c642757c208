"""Spaces with any distance: the distance is the one that was given, and what is none is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import ForeignValue, InvalidInput, UnreadableFile, Unsupported, WrongType
from discreet.space_files import read_space
from discreet.spaces import Space, space_from
from support.refusals import refused
from support.tiers import examples


def exact(space: Space, i: int, j: int) -> Fraction:
    """The distance of two indices where it is rational."""
    square = space.unit**2 * space.exact_squared_distance(i, j)
    root = Fraction(int(square.numerator**0.5 + 0.5), int(square.denominator**0.5 + 0.5))
    assert root * root == square
    return root


@st.composite
def graphs(draw):
    size = draw(st.integers(2, 7))
    lengths = st.fractions(Fraction(1, 6), 4, max_denominator=6)
    edges = [(k, draw(st.integers(0, k - 1)), draw(lengths)) for k in range(1, size)]
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1), lengths)
    return size, edges + [edge for edge in draw(st.lists(pairs, max_size=8)) if edge[0] != edge[1]]


def shortest_paths(size: int, edges: list[tuple[int, int, Fraction]]) -> list[list[Fraction]]:
    """By Floyd and Warshall, in fractions."""
    far = [[Fraction(0) if i == j else Fraction(10**6) for j in range(size)] for i in range(size)]
    for a, b, length in edges:
        far[a][b] = far[b][a] = min(far[a][b], length)
    for k in range(size):
        for i in range(size):
            for j in range(size):
                far[i][j] = min(far[i][j], far[i][k] + far[k][j])
    return far


@examples(80)
@given(graphs())
def test_distances_of_a_graph_are_its_shortest_paths(case):
    size, edges = case
    space = dc.Graph(edges, labels=range(size))
    far = shortest_paths(size, edges)
    assert all(exact(space, i, j) == far[i][j] for i in range(size) for j in range(size))
    assert shortest_paths(size, [(space.index(a), space.index(b), length) for a, b, length in space.edges]) == far
    # as a matrix of distances it is the same space, and those edges generate it
    matrix = dc.MetricSpace(space.labels, far, edges=[edge[:2] for edge in space.edges])
    assert all(exact(matrix, i, j) == far[i][j] for i in range(size) for j in range(size))
    assert all(np.array_equal(a, b) for a, b in zip(matrix.neighbours(), space.neighbours(), strict=True))


@given(st.integers(3, 30))
def test_the_distance_on_a_ring_is_the_shorter_way_round(n):
    ring = dc.Ring(n)
    assert all(ring.distance(a, b) == min((a - b) % n, (b - a) % n) for a in range(n) for b in range(n))
    assert ring.diameter == n // 2


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8))
def test_the_distance_in_a_tree_goes_over_the_common_ancestor(choices):
    parents = [None, *(choice % k for k, choice in enumerate(choices, 1))]
    tree = dc.Tree(parents)

    def ancestors(v):
        return [v] if parents[v] is None else [v, *ancestors(parents[v])]

    for a in range(len(parents)):
        for b in range(len(parents)):
            above = ancestors(b)
            first = next(v for v in ancestors(a) if v in above)
            assert tree.distance(a, b) == ancestors(a).index(first) + above.index(first)


def test_products_join_the_distances_of_their_parts():
    parts = (dc.Range(0, 2, "0.5"), dc.Ring(5))
    spaces = {norm: dc.ProductSpace(parts, norm=norm) for norm in ("l1", "l2", "linf")}
    for a in [(0, 0), (0.5, 3), (2, 1)]:
        for b in [(1.5, 2), (0, 4), (2, 1)]:
            far = [part.distance(x, y) for part, x, y in zip(parts, a, b, strict=True)]
            assert spaces["l1"].distance(a, b) == pytest.approx(sum(far))
            assert spaces["l2"].distance(a, b) == pytest.approx(np.hypot(*far))
            assert spaces["linf"].distance(a, b) == pytest.approx(max(far))
    first, _ = spaces["l1"].neighbours()
    assert len(first) == 4 * 5 + 5 * 5 and spaces["l2"].neighbours() is None
    assert dc.ProductSpace(parts) != spaces["l1"] != spaces["l2"]


def test_values_of_a_range_are_numbers_however_they_are_written():
    energy = dc.Range(0, 20, step="0.5")
    assert [energy.index(v) for v in (0, 1.5, "1.5", Fraction(3, 2), np.float64(20))] == [0, 3, 3, 3, 40]
    assert energy.indices([0, 1.5, 20]).tolist() == [0, 3, 40] and energy.indices(np.array([[2, 3]])).tolist() == [
        [4, 6]
    ]
    assert energy.values(np.array([0, 3])).tolist() == [0.0, 1.5] and energy.value(3) == 1.5
    tenths = dc.Range("0.1", "0.9", step="0.1")
    assert [tenths.index(tenths.value(k)) for k in range(9)] == list(range(9))
    ages = dc.Range(20, 80, step=5)
    assert ages.values(np.arange(3)).tolist() == [20, 25, 30] and type(ages.value(1)) is int
    for wrong in (0.25, -0.5, 20.5, "x", float("nan")):
        with refused(ForeignValue):
            energy.index(wrong)
        with refused(ForeignValue):
            energy.indices([0.5, wrong])
    for wrong in (True, None):
        with refused(WrongType):
            energy.index(wrong)


def test_points_have_their_straight_distances_exactly():
    space = dc.MetricSpace.from_points({"a": ("0.1", 0), "b": (0, "0.2"), "c": (1, 1)})
    assert space.unit == Fraction(1, 10) and space.exact_squared_distance(0, 1) == 5
    assert space.neighbours() is None


def test_long_numbers_are_rounded_down_and_no_further():
    rng = np.random.default_rng(7)
    places = rng.normal(size=(9, 2)) * 1000
    far = np.hypot(*(axis[:, None] - axis[None, :] for axis in places.T))
    space = dc.MetricSpace(range(9), far)
    kept = np.array([[space.distance(i, j) for j in range(9)] for i in range(9)])
    assert (kept <= far * (1 + 1e-15)).all() and (far - kept).max() < 1e-8 * far.max()
    assert dc.MetricSpace(list("abc"), [[0, 0.1, 0.3], [0.1, 0, 0.2], [0.3, 0.2, 0]]).unit == Fraction(1, 10)


@pytest.mark.parametrize("make", [
    lambda: dc.MetricSpace(list("ab"), [[0, 1], [2, 0]]), lambda: dc.MetricSpace(list("ab"), [[1, 1], [1, 0]]),
    lambda: dc.MetricSpace(list("ab"), [[0, 0], [0, 0]]), lambda: dc.MetricSpace(list("ab"), [[0, -1], [-1, 0]]),
    lambda: dc.MetricSpace(list("ab"), [[0, 1]]),
    lambda: dc.MetricSpace(list("abc"), [[0, 1, 9], [1, 0, 1], [9, 1, 0]]),
    lambda: dc.MetricSpace(list("ab"), [[0, float("nan")], [float("nan"), 0]]),
    lambda: dc.MetricSpace(list("abc"), [[0, 1, 2], [1, 0, 1], [2, 1, 0]], edges=[("a", "b"), ("a", "c")]),
    lambda: dc.MetricSpace(list("abc"), [[0, 1, 2], [1, 0, 1], [2, 1, 0]], edges=[]),
    lambda: dc.MetricSpace.from_points({"a": (0, 0), "b": (0, 0)}), lambda: dc.MetricSpace.from_points([(0, 0)]),
    lambda: dc.MetricSpace.from_points({"a": (0, 0), "b": (0, 0, 1)}),
    lambda: dc.Graph([]), lambda: dc.Graph([("a", "a")]), lambda: dc.Graph([("a", "b", 0)]), lambda: dc.Graph(["ab"]),
    lambda: dc.Graph([("a", "b"), ("c", "d")]), lambda: dc.Ring(2), lambda: dc.Ring(3.0), lambda: dc.Range(0, 1, 0),
    lambda: dc.Range(0, 1, "0.3"), lambda: dc.Range(5, 0), lambda: dc.Range(0, 0), lambda: dc.Range(0, 10**7),
    lambda: dc.Tree({"a": "b", "b": "a"}), lambda: dc.Tree({"a": None, "b": None}), lambda: dc.Tree("ab"),
    lambda: dc.Tree({"a": None, "b": "c"}), lambda: dc.Tree([None, 0], lengths={0: 2}),
    lambda: dc.Tree({"r": None, "a": "b", "b": "a"}), lambda: dc.ProductSpace((dc.Ring(3), dc.Ring(3)), norm="l3"),
    lambda: space_from({"kind": "metric", "labels": ["a", "b"], "unit": "1", "steps": [[0]]}),
    lambda: space_from({"kind": "metric", "labels": ["a", "b"], "unit": "0", "steps": [[1]]}),
    lambda: space_from({"kind": "metric", "labels": list("abc"), "unit": "1", "steps": [[1], [9, 1]]}),
    lambda: space_from({"kind": "tree", "labels": list("abc"), "edges": [[0, 1, "1"], [1, 2, "1"], [0, 2, "1"]]}),
    lambda: space_from({"kind": "graph", "labels": ["a", "b"], "edges": [[0, 7, "1"]]}),
    lambda: space_from({"kind": "ring"}),
])  # fmt: skip
def test_what_is_no_metric_space_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_parts_without_rational_distances_have_no_l1_product():
    with refused(Unsupported):
        dc.ProductSpace((dc.Grid(2, 2), dc.Ring(3)), norm="l1")
    with refused(Unsupported):
        dc.MetricSpace(range(1601), lambda a, b: 1)
    with refused(Unsupported):
        dc.Ring(5001)


def test_spaces_are_read_from_files(tmp_path):
    files = {
        "ring.json": '{"kind": "ring", "n": 5}',
        "tree.json": '{"kind": "tree", "parents": {"a": null, "b": "a"}}',
        "graph.json": '{"kind": "graph", "edges": [["a", "b"], ["b", "c", "1/2"]]}',
        "metric.json": '{"kind": "metric", "labels": ["a", "b"], "distance": [[0, "1/3"], ["1/3", 0]]}',
        "range.json": '{"kind": "range", "low": 0, "high": 2, "step": "0.5"}',
        "product.json": '{"kind": "product", "norm": "l1", "parts": [%s, %s]}' % (('{"kind": "ring", "n": 3}',) * 2),
        "matrix.csv": ";a;b\na;0;2.5\nb;2.5;0\n",
        "edges.csv": "from,to,length\na,b,2\nb,c,\n",
        "plain.csv": "a,b\nb,c\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    read = {name.partition(".")[0]: read_space(tmp_path / name) for name in files}
    assert read["ring"] == dc.Ring(5) and read["tree"] == dc.Tree({"a": None, "b": "a"})
    assert read["graph"].distance("a", "c") == 1.5 and read["metric"].unit == Fraction(1, 3)
    assert read["range"] == dc.Range(0, 2, "0.5") and read["product"].size == 9
    assert read["matrix"].distance("a", "b") == 2.5
    assert read["edges"].distance("a", "c") == 3 and read["plain"].distance("a", "c") == 2
    for name, text in {"x.csv": "", "y.csv": ",a,b\na,0,1\nc,1,0\n", "z.csv": "a\nb\n", "w.json": "[]"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(InvalidInput):
            read_space(tmp_path / name)
    with pytest.raises(UnreadableFile):
        read_space(tmp_path / "nowhere.json")
