"""The number of conditions that one row can meet at once.

The answer bounds how many counts one row changes, so it may be too large but never too small. A row is looked at
through its *readings* only: a term read as a type, two terms compared, a text against a pattern. The literals of the
conditions cut the values of a reading into finitely many places (each literal, each gap between two, NULL), and on
each combination of places every condition is decided. Readings are taken to be independent, except that a reading of
a column is NULL where the column is; what no row can show only makes the answer larger.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import Array, BoolArray, IntArray
from .conditions import Condition
from .expressions import AndOr, Compare, Literal, Member, Missing, SqlTerm, Test, atoms

#: Maximum number of combinations (times conditions) to check; beyond it one row is assumed to meet them all.
MAX_COMBINATIONS = 20_000_000

#: Truth in three values, so that AND is the minimum, OR the maximum and NOT the opposite sign.
TRUE, UNKNOWN, FALSE = 1, 0, -1

Atom = Compare | Member | Missing
Truths = NDArray[np.int8]


def most_together(conditions: Sequence[Condition | None], where: Condition | None = None) -> int:
    """Return an upper bound on how many of the conditions hold for one row that meets ``where``; None always holds.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> from .conditions import read_condition
    >>> def conditions(*texts):
    ...     return [read_condition(parse_one(text, read="duckdb")) for text in texts]
    >>> most_together(conditions("health = 'good'", "health = 'poor'")), most_together(conditions("a = 1", "b = 1"))
    (1, 2)
    >>> most_together(conditions("age < 18", "age BETWEEN 18 AND 64", "age > 64", "age > 80"))
    2
    """
    tests = [condition.test for condition in conditions if condition is not None]
    always = len(conditions) - len(tests)
    filters: list[Test] = [] if where is None else _conjuncts(where.test)
    return always + sum(_most_of(part, filters) for part in _separate(tests))


def _conjuncts(test: Test) -> list[Test]:
    return list(test.parts) if isinstance(test, AndOr) and test.word == "AND" else [test]


def _separate(tests: list[Test]) -> list[list[Test]]:
    """Return the tests in classes that look at no column of one another; the classes' bounds add up."""
    classes: list[tuple[set[str], list[Test]]] = []
    for test in tests:
        columns = set(Condition(test).columns)
        together = [test]
        apart = []
        for others, members in classes:
            if others & columns:
                columns |= others
                together = members + together
            else:
                apart.append((others, members))
        classes = [*apart, (columns, together)]
    return [members for _, members in classes]


def _most_of(tests: list[Test], filters: Iterable[Test]) -> int:
    columns = frozenset[str]().union(*(Condition(test).columns for test in tests))
    filters = [test for test in filters if Condition(test).columns <= columns]
    for used in (filters, []):
        grid = _Grid([*tests, *used])
        if prod(grid.shape) * (len(grid.atoms) + len(tests) + 1) <= MAX_COMBINATIONS and len(grid.shape) <= 30:
            return grid.most(tests, used)
    return len(tests)


class _Grid:
    """All combinations of the places of all readings; a test's truth is an array over it, by broadcasting."""

    def __init__(self, tests: list[Test]) -> None:
        self.atoms = list(dict.fromkeys(atom for test in tests for atom in atoms(test)))
        atoms_of: dict[Hashable, list[Atom]] = {}
        for atom in self.atoms:
            atoms_of.setdefault(_key(atom), []).append(atom)
        self.readings = {key: _Reading(axis, same) for axis, (key, same) in enumerate(atoms_of.items())}
        self.shape = [reading.places for reading in self.readings.values()]

    def truth(self, test: Test) -> Truths:
        if isinstance(test, AndOr):
            whole = self.truth(test.parts[0])
            for part in test.parts[1:]:
                whole = (np.minimum if test.word == "AND" else np.maximum)(whole, self.truth(part))
            return whole
        reading = self.readings[_key(test)]
        return self._along(reading, reading.truths[test])

    def most(self, tests: list[Test], filters: list[Test]) -> int:
        possible: BoolArray = np.ones([1] * len(self.shape), dtype=bool)
        for test in filters:
            possible = possible & (self.truth(test) == TRUE)
        for reading in self.readings.values():
            column = self.readings.get((SqlTerm("", reading.term.column), None))
            if column is not None and column is not reading and reading.term.never_fills_in:
                absent, unread = (self._along(one, np.arange(one.places) == 0) for one in (column, reading))
                possible = possible & ~(absent & ~unread)
        together = np.zeros(self.shape, dtype=np.int32)
        for test in tests:
            together += self.truth(test) == TRUE
        return int(np.where(possible, together, 0).max(initial=0))

    def _along(self, reading: _Reading, values: Array) -> Array:
        shape = [1] * len(self.shape)
        shape[reading.axis] = len(values)
        return values.reshape(shape)


def _key(atom: Atom) -> Hashable:
    """Return the reading that an atom tests."""
    if isinstance(atom, Missing):
        return atom.left, atom.left.type
    if isinstance(atom, Member):
        return atom.left, atom.left.type or atom.literals[0].type
    if isinstance(atom.right, SqlTerm):
        return atom.left, atom.right, "pair"
    if "LIKE" in atom.op:
        return atom.left, atom.op.removeprefix("NOT "), atom.right
    return atom.left, atom.left.type or atom.right.type


class _Reading:
    """The truth of the atoms on one reading at each of its places: NULL first, then those that atoms distinguish."""

    def __init__(self, axis: int, atoms: list[Atom]) -> None:
        self.axis = axis
        self.term = atoms[0].left
        literals = sorted({one for atom in atoms for one in _literals(atom)}, key=lambda literal: literal.value)
        # literals are at odd numbers, gaps at even ones; two terms are compared as if the right one were a literal,
        # and a pattern is as if it were one
        self.order = {literal: 2 * k + 1 for k, literal in enumerate(literals)}
        places = np.arange(2 * max(1, len(literals)) + 1)
        truths = np.array([np.where(self._holds(atom, places), TRUE, FALSE) for atom in atoms], dtype=np.int8)
        distinct = {column.tobytes(): k for k, column in reversed(list(enumerate(np.ascontiguousarray(truths.T))))}
        truths = truths[:, sorted(distinct.values())]
        self.truths = {atom: np.concatenate([[_at_null(atom)], row]) for atom, row in zip(atoms, truths, strict=True)}
        self.places = 1 + truths.shape[1]

    def _holds(self, atom: Atom, places: IntArray) -> BoolArray:
        if isinstance(atom, Missing):
            return np.full(len(places), not atom.missing)
        if isinstance(atom, Member):
            return np.isin(places, [self.order[literal] for literal in atom.literals], invert=not atom.inside)
        if "LIKE" in atom.op:
            matching: BoolArray = places == 1
            return ~matching if atom.op.startswith("NOT") else matching
        against = 1 if isinstance(atom.right, SqlTerm) else self.order[atom.right]
        compared: BoolArray = _COMPARED[atom.op](places, against)
        return compared


def _at_null(atom: Atom) -> int:
    if isinstance(atom, Missing):
        return TRUE if atom.missing else FALSE
    if isinstance(atom, Compare) and atom.op.startswith("IS"):
        return TRUE if atom.op == "IS DISTINCT FROM" else FALSE
    return UNKNOWN


def _literals(atom: Atom) -> tuple[Literal, ...]:
    if isinstance(atom, Member):
        return atom.literals
    if isinstance(atom, Compare) and isinstance(atom.right, Literal) and "LIKE" not in atom.op:
        return (atom.right,)
    return ()


_COMPARED = {
    "=": np.equal, "<>": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "IS NOT DISTINCT FROM": np.equal, "IS DISTINCT FROM": np.not_equal,
}  # fmt: skip
