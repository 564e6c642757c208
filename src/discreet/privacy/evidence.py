"""Measuring finite tables: the largest ratio and the hockey-stick divergence between rows, exactly.

Floats screen, integers decide. The screen works on logarithms with a proved error bound and discards what cannot be the
worst; whatever is left is compared in integers. Zeros are never screened: a zero beside a positive weight is an
infinite ratio, however small the weight.

For a rational E >= 1 the divergence between rows p and q is ``sum_y (p_y - E q_y)+ = A - E B`` with A = p(S), B = q(S)
and S the set where p > E q: on a piece where S does not change it is linear in E. A and B are kept as exact fractions,
so delta at an irrational E = e^eps is bounded as narrowly as anyone asks for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact.rationals import exp_bounds
from ..exact.tables import Table
from .views import View
from .witness import Witness

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Bounds = tuple[Fraction, Fraction]

#: Screening looks at this many places at a time.
_PLACES = 1 << 21

#: A double is within this relative distance of the number it stands for after the few operations of a screen.
_ULPS = 2.0**-49


@dataclass(frozen=True)
class Piece:
    """One pair of truths and the set of reports where the first is more than E times as likely as the second."""

    row: int
    other: int
    columns: tuple[int, ...]
    mass: Fraction
    other_mass: Fraction

    def divergence(self, ratio: Fraction) -> Fraction:
        return self.mass - ratio * self.other_mass


class Rows:
    """Pairs of rows of one table, screened in floats and decided in integers.

    Parameters
    ----------
    view
        The table and what it stands for.
    first, second
        The pairs of rows to compare, in both directions.
    noun
        What a truth is called in sentences.
    """

    def __init__(self, view: View, first: IntArray, second: IntArray, noun: str = "count") -> None:
        self.view, self.noun = view, noun
        self._table: Table = view.table
        self._first, self._second = np.asarray(first, np.int64), np.asarray(second, np.int64)

    # ---------------------------------------------------------------- the screen

    @cached_property
    def _logs(self) -> FloatArray:
        totals = np.array([[math.log(t)] for t in self._table.totals])
        return np.asarray(self._table.log_weights()[self._table.codes] - totals)

    @cached_property
    def _log_error(self) -> float:
        """A bound on the error of a difference of two entries of ``_logs``."""
        largest = max(math.log(max(self._table.palette)), math.log(max(self._table.totals)), 1.0)
        return 4 * largest * _ULPS

    @cached_property
    def _matrix(self) -> FloatArray:
        return self._table.matrix()

    def _chunks(self) -> Iterator[tuple[IntArray, IntArray]]:
        step = max(1, _PLACES // self._table.shape[1])
        for start in range(0, len(self._first), step):
            yield self._first[start : start + step], self._second[start : start + step]

    def _log_ratios(self, i: IntArray, j: IntArray) -> FloatArray:
        """log P(y|i)/P(y|j): +-inf beside a zero, nan (no constraint) where both are zero."""
        with np.errstate(invalid="ignore"):
            return self._logs[i] - self._logs[j]

    # ---------------------------------------------------------------- the largest ratio

    @cached_property
    def log_ratio_screen(self) -> tuple[float, float]:
        """The largest log ratio in floats, and a bound on its error."""
        best = 0.0
        for i, j in self._chunks():
            best = max(best, float(np.nanmax(np.abs(self._log_ratios(i, j)), initial=0.0)))
        return best, self._log_error

    @cached_property
    def largest_ratio(self) -> Witness:
        """The pair and report with the largest exact ratio."""
        best, error = self.log_ratio_screen
        chosen: tuple[int, int, int] | None = None
        top, bottom = 1, 1
        seen: set[tuple[int, int, int, int]] = set()
        for i, j in self._chunks():
            logs = self._log_ratios(i, j)
            near = np.abs(logs) >= best - 2 * error if best < math.inf else np.isinf(logs)
            for row, other, column in self._distinct(i, j, near, logs):
                key = (
                    int(self._table.codes[row, column]),
                    int(self._table.codes[other, column]),
                    self._table.totals[row],
                    self._table.totals[other],
                )
                if key in seen:
                    continue
                seen.add(key)
                over = self._table.weight(row, column) * self._table.totals[other]
                under = self._table.weight(other, column) * self._table.totals[row]
                if under == 0:
                    return self._witness(row, other, [column])
                if chosen is None or over * bottom > top * under:
                    chosen, top, bottom = (row, other, column), over, under
        if chosen is None:
            chosen = (int(self._first[0]), int(self._second[0]), 0)
        return self._witness(chosen[0], chosen[1], [chosen[2]])

    def _distinct(
        self, i: IntArray, j: IntArray, near: NDArray[np.bool_], logs: FloatArray
    ) -> Iterator[tuple[int, int, int]]:
        """One place for each distinct pair of weights among the marked ones, likelier truth first."""
        pair, column = np.nonzero(near)
        if not pair.size:
            return
        forward = logs[pair, column] > 0
        row, other = np.where(forward, i[pair], j[pair]), np.where(forward, j[pair], i[pair])
        key = self._table.codes[row, column].astype(np.int64) * len(self._table.palette)
        key += self._table.codes[other, column]
        if self._table.common_total is None:
            rows = np.int64(self._table.shape[0])
            _, chosen = np.unique(np.stack([key, row * rows + other]), axis=1, return_index=True)
        else:
            _, chosen = np.unique(key, return_index=True)
        yield from zip(row[chosen].tolist(), other[chosen].tolist(), column[chosen].tolist(), strict=True)

    # ---------------------------------------------------------------- the divergence

    def _divergence_screen(self, ratio: float) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        for i, j in self._chunks():
            p, q = self._matrix[i], self._matrix[j]
            yield i, j, np.maximum(p - ratio * q, 0).sum(axis=1)
            yield j, i, np.maximum(q - ratio * p, 0).sum(axis=1)

    def _screen_error(self, ratio: float) -> float:
        return (1 + ratio) * (self._table.shape[1] + 8) * 2.0**-52

    def divergence_screen(self, ratio: float) -> tuple[float, float]:
        """The largest divergence in floats, and a bound on its error."""
        best = max(float(values.max(initial=0.0)) for _, _, values in self._divergence_screen(ratio))
        return best, self._screen_error(ratio)

    def worst_piece(self, low: Fraction, high: Fraction) -> Piece | None:
        """The exact piece with the largest divergence at an E known to lie in [low, high]; None if all are zero."""
        ratio = float(low)
        best, error = self.divergence_screen(ratio)
        pieces: list[Piece] = []
        for i, j, values in self._divergence_screen(ratio):
            for k in np.flatnonzero(values >= best - 2 * error).tolist():
                piece = self._piece(int(i[k]), int(j[k]), low, high)
                if piece is not None:
                    pieces.append(piece)
        return max(pieces, key=lambda piece: piece.divergence(low), default=None)

    def _piece(self, row: int, other: int, low: Fraction, high: Fraction) -> Piece | None:
        table = self._table
        total, other_total = table.totals[row], table.totals[other]
        log_ratio, error = math.log(low), self._log_error + 2.0**-48
        with np.errstate(invalid="ignore"):
            margin = self._logs[row] - self._logs[other] - log_ratio
        inside = margin > error  # nan compares false: both zero
        for column in np.flatnonzero(np.abs(margin) <= error).tolist():
            over = table.weight(row, column) * other_total
            under = table.weight(other, column) * total
            # The bounds of an irrational E are so close that a rational ratio is not between them, except by design of
            # the caller (low == high); then equality adds nothing to the divergence and may be left out.
            inside[column] = over * low.denominator > low.numerator * under and (
                low == high or over * high.denominator > high.numerator * under
            )
        columns = np.flatnonzero(inside)
        if not columns.size:
            return None
        mass = sum(table.palette[c] for c in table.codes[row, columns].tolist())
        other_mass = sum(table.palette[c] for c in table.codes[other, columns].tolist())
        return Piece(row, other, tuple(columns.tolist()), Fraction(mass, total), Fraction(other_mass, other_total))

    def worst_event(self, ratio: Fraction) -> tuple[Fraction, Witness | None]:
        """max over pairs and single reports of P(y|x) - E P(y|x'), exactly for this rational E, and where."""
        e = float(ratio)
        error = 8 * (1 + e) * 2.0**-52
        best = 0.0
        for i, j in self._chunks():
            p, q = self._matrix[i], self._matrix[j]
            best = max(best, float((p - e * q).max()), float((q - e * p).max()))
        value, place = Fraction(0), None
        for i, j in self._chunks():
            for a, b in ((i, j), (j, i)):
                near = self._matrix[a] - e * self._matrix[b] >= max(best - 2 * error, 0.0)
                forward = np.ones(near.shape)
                for row, other, column in self._distinct(a, b, near, forward):
                    exact = self._table.probability(row, column) - ratio * self._table.probability(other, column)
                    if exact > value:
                        value, place = exact, (row, other, column)
        return value, None if place is None else self._witness(place[0], place[1], [place[2]])

    # ---------------------------------------------------------------- words

    def witness_of(self, piece: Piece) -> Witness:
        return self._witness(piece.row, piece.other, list(piece.columns))

    def _witness(self, row: int, other: int, columns: list[int]) -> Witness:
        view, table = self.view, self._table
        last = table.shape[1] - 1
        return Witness(
            truth=view.truths[row],
            other=view.truths[other],
            reports=tuple(view.reports[c] for c in columns),
            probability=Fraction(sum(table.weight(row, c) for c in columns), table.totals[row]),
            other_probability=Fraction(sum(table.weight(other, c) for c in columns), table.totals[other]),
            noun=self.noun,
            at_most=view.at_most and 0 in columns,
            at_least=view.at_least and last in columns,
        )


def delta_bounds(parts: list[Rows], epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
    """Bounds of the largest divergence at E = e^epsilon over several tables, and the event that reaches it."""
    low, high = exp_bounds(epsilon, bits)
    best: tuple[Rows, Piece] | None = None
    for rows in parts:
        piece = rows.worst_piece(low, high)
        if piece is not None and (best is None or piece.divergence(low) > best[1].divergence(low)):
            best = rows, piece
    if best is None:
        return (Fraction(0), Fraction(0)), None
    rows, piece = best
    bounds = max(piece.divergence(high), Fraction(0)), max(piece.divergence(low), Fraction(0))
    return bounds, rows.witness_of(piece)


def column_extremes(table: Table) -> tuple[IntArray, IntArray]:
    """For each report, the rows where it is likeliest and least likely: the pairs that decide the local notion.

    max over i, j, y of P(y|i)/P(y|j) is attained where, for some y, i is the likeliest and j the least likely truth.
    Floats choose; every row within the error of an extreme is kept, so the exact extreme is among them.
    """
    totals = np.array([[math.log(t)] for t in table.totals])
    logs = table.log_weights()[table.codes] - totals
    error = 8 * _ULPS * max(math.log(max(table.palette)), math.log(max(table.totals)), 1.0)
    high, low = logs.max(axis=0), logs.min(axis=0)
    pairs: set[tuple[int, int]] = set()
    spread = high - low
    # only columns whose spread can be the largest matter
    for column in np.flatnonzero((spread >= spread.max() - 2 * error) | np.isinf(spread)).tolist():
        top = np.flatnonzero(logs[:, column] >= high[column] - error)
        bottom = np.flatnonzero(logs[:, column] <= low[column] + error)
        top = _one_of_each(table, top, column)
        bottom = _one_of_each(table, bottom, column)
        pairs.update((int(i), int(j)) for i in top for j in bottom if i != j)
        if math.isinf(spread[column]):
            break
    if not pairs:
        pairs = {(0, 1)}
    first, second = zip(*sorted(pairs), strict=True)
    return np.array(first), np.array(second)


def _one_of_each(table: Table, rows: NDArray[Any], column: int) -> NDArray[Any]:
    """One row for each distinct probability of this report among the given rows."""
    seen: dict[tuple[int, int], int] = {}
    for row in rows.tolist():
        seen.setdefault((int(table.codes[row, column]), table.totals[row]), row)
    return np.array(list(seen.values()))
