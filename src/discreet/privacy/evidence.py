"""Exact measurements of finite tables: the largest ratio and the hockey-stick divergence between rows.

Floats screen, integers decide. The screen works on logarithms with a proved error bound and discards what cannot be the
worst; the rest is compared in integers. Zeros are never screened: a zero next to a positive weight is an infinite
ratio, however small the weight.

For a rational E >= 1 the divergence between rows p and q is ``sum_y (p_y - E q_y)+ = A - E B`` with A = p(S), B = q(S)
and S the set where p > E q: on a piece where S does not change it is linear in E. A and B are kept as exact fractions,
so delta at an irrational E = e^eps is bounded as narrowly as needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..exact.arrays import Array, BoolArray, FloatArray, IntArray
from ..exact.rationals import exp_bounds
from ..exact.tables import Table
from .views import View, log_probabilities
from .witness import Witness

Bounds = tuple[Fraction, Fraction]

#: Number of entries that are screened at a time.
_ENTRIES_PER_BLOCK = 1 << 21

#: ``math.log`` of an integer of any length errs by less than this times (1 + |log|): eight units in the last place,
#: where a correct C library and CPython's treatment of long integers together need less than four.
_LOG_ERROR = 2.0**-50

#: Largest ratio E at which doubles can screen p - E q: the smallest of them represent all numbers below 2^-1074.
_LARGEST_RATIO = 2.0**900

#: Largest error of p - E q, up to that ratio, from doubles below 2^-1022, which have fewer digits.
_UNDERFLOW = 2.0**-170


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


class RowPairs:
    """Pairs of rows of one table, screened in floats and decided in integers.

    Parameters
    ----------
    view
        The table, with its truths and reports.
    first, second
        The pairs of rows to compare, in both directions.
    noun
        The word for a truth in sentences.
    """

    def __init__(self, view: View, first: IntArray, second: IntArray, noun: str = "count") -> None:
        self.view, self.noun = view, noun
        self._table: Table = view.table
        self._first, self._second = np.asarray(first, np.int64), np.asarray(second, np.int64)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._first)

    # ---------------------------------------------------------------- the screen

    @property
    def _logs(self) -> FloatArray:
        return self.view.logs

    @cached_property
    def _log_error(self) -> float:
        return _log_error(self._table)

    @property
    def _matrix(self) -> FloatArray:
        return self.view.matrix

    def _chunks(self) -> Iterator[tuple[IntArray, IntArray]]:
        step = max(1, _ENTRIES_PER_BLOCK // self._table.shape[1])
        for start in range(0, len(self._first), step):
            yield self._first[start : start + step], self._second[start : start + step]

    def _log_ratios(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return log P(y|i)/P(y|j): +-inf if one of them is zero, nan (no constraint) if both are."""
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

    def log_ratios_by_pair(self) -> tuple[FloatArray, float]:
        """Return the largest log ratio of each pair in floats, and a bound on their error."""
        parts = [np.nanmax(np.abs(self._log_ratios(i, j)), axis=1, initial=0.0) for i, j in self._chunks()]
        return np.concatenate(parts), self._log_error

    @cached_property
    def largest_ratio(self) -> Witness:
        """The pair and report with the largest exact ratio."""
        best, error = self.log_ratio_screen
        largest: tuple[int, int, int] | None = None
        top, bottom = 1, 1
        seen: set[tuple[int, int, int, int]] = set()
        for i, j in self._chunks():
            logs = self._log_ratios(i, j)
            near = np.abs(logs) >= best - 2 * error if best < math.inf else np.isinf(logs)
            for row, other, column in self._distinct(i, j, near):
                total, against = self._table.totals[row], self._table.totals[other]
                if total == against:
                    total = against = 1  # they cancel
                key = (int(self._table.codes[row, column]), int(self._table.codes[other, column]), total, against)
                if key in seen:
                    continue
                seen.add(key)
                over = self._table.weight(row, column) * against
                under = self._table.weight(other, column) * total
                if over < under:
                    row, other, over, under = other, row, under, over
                if under == 0:
                    return self._witness(row, other, [column])
                if largest is None or over * bottom > top * under:
                    common = math.gcd(over, under)  # most others have this very ratio: let comparing be cheap
                    largest, top, bottom = (row, other, column), over // common, under // common
        assert largest is not None  # two distributions share a report, or some ratio is infinite
        return self._witness(largest[0], largest[1], [largest[2]])

    def _distinct(self, i: IntArray, j: IntArray, near: BoolArray) -> Iterator[tuple[int, int, int]]:
        """Yield one entry for each distinct pair of weights among the marked ones."""
        pair, column = np.nonzero(near)
        if not pair.size:
            return
        row, other = i[pair], j[pair]
        key = self._table.codes[row, column].astype(np.int64) * len(self._table.palette)
        key += self._table.codes[other, column]
        if self._table.common_total is None:
            rows = np.int64(self._table.shape[0])
            _, first = np.unique(np.stack([key, row * rows + other]), axis=1, return_index=True)
        else:
            _, first = np.unique(key, return_index=True)
        yield from zip(row[first].tolist(), other[first].tolist(), column[first].tolist(), strict=True)

    # ---------------------------------------------------------------- the divergence

    def _divergence_screen(self, ratio: float) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        for i, j in self._chunks():
            p, q = self._matrix[i], self._matrix[j]
            yield i, j, np.maximum(p - ratio * q, 0).sum(axis=1)
            yield j, i, np.maximum(q - ratio * p, 0).sum(axis=1)

    def divergence_screen(self, ratio: Fraction) -> tuple[float, float]:
        """Return the largest divergence in floats, and a bound on its error.

        A term (p - E q)+ errs by less than 12 * 2^-52 p: where E q > 2p it is zero however rounded, and elsewhere p and
        E q, of relative error 2^-51 and 2^-50, are of the size of p. The p add up to one, and adding the terms errs by
        less than 2^-53 for each.
        """
        error = (self._table.shape[1] + 16) * 2.0**-52
        if ratio > _LARGEST_RATIO:
            return 0.0, 1.0
        return max(float(v.max(initial=0.0)) for _, _, v in self._divergence_screen(float(ratio))), error

    def divergences_by_pair(self, ratios: FloatArray) -> FloatArray:
        """Return the divergence of each pair at its own E, in floats: the larger of both directions."""
        parts, start = [], 0
        for i, j in self._chunks():
            p, q, ratio = self._matrix[i], self._matrix[j], ratios[start : start + len(i), None]
            start += len(i)
            forth, back = np.maximum(p - ratio * q, 0).sum(axis=1), np.maximum(q - ratio * p, 0).sum(axis=1)
            parts.append(np.maximum(forth, back))
        return np.concatenate(parts)

    def worst_piece(self, ratio: Fraction) -> Piece | None:
        """Return the exact piece with the largest divergence at this E; None if all are zero."""
        best, error = self.divergence_screen(ratio)
        pieces: list[Piece] = []
        for i, j, values in self._divergence_screen(float(min(ratio, Fraction(_LARGEST_RATIO)))):
            for k in np.flatnonzero(values >= best - 2 * error).tolist():
                piece = self._piece(int(i[k]), int(j[k]), ratio)
                if piece is not None:
                    pieces.append(piece)
        return max(pieces, key=lambda piece: piece.divergence(ratio), default=None)

    def _log_of(self, ratio: Fraction) -> tuple[float, float]:
        """Return log E, and a bound on the error of comparing it with a difference of two entries of ``View.logs``."""
        above, below = math.log(ratio.numerator), math.log(ratio.denominator)
        return above - below, self._log_error + 2 * _LOG_ERROR * (2 + above + below)

    def _piece(self, row: int, other: int, ratio: Fraction) -> Piece | None:
        table = self._table
        total, other_total = table.totals[row], table.totals[other]
        log_ratio, error = self._log_of(ratio)
        with np.errstate(invalid="ignore"):
            margin = self._logs[row] - self._logs[other] - log_ratio
        inside = margin > error  # nan compares false: both zero
        for column in np.flatnonzero(np.abs(margin) <= error).tolist():
            over = table.weight(row, column) * other_total
            under = table.weight(other, column) * total
            inside[column] = over * ratio.denominator > ratio.numerator * under
        columns = np.flatnonzero(inside)
        if not columns.size:
            return None
        mass = sum(table.palette[c] for c in table.codes[row, columns].tolist())
        other_mass = sum(table.palette[c] for c in table.codes[other, columns].tolist())
        return Piece(row, other, tuple(columns.tolist()), Fraction(mass, total), Fraction(other_mass, other_total))

    def worst_event(self, ratio: Fraction) -> Fraction:
        """Return max over pairs and single reports of P(y|x) - E P(y|x'), exactly for this rational E.

        A merged tail is left out: its reports have less excess than the one next to it (see :mod:`.views`).
        """
        log_ratio, log_error = self._log_of(ratio)
        screened = ratio <= _LARGEST_RATIO
        single = self.view.single
        e = float(ratio) if screened else 0.0

        def excess(i: IntArray, j: IntArray) -> tuple[FloatArray, FloatArray]:
            """Return p - E q and a bound on its error; see :meth:`divergence_screen`."""
            p = self._matrix[i]
            return p - e * self._matrix[j], 12 * 2.0**-52 * p + _UNDERFLOW

        both = [(a, b) for i, j in self._chunks() for a, b in ((i, j), (j, i))]
        best = 0.0
        if screened:
            for i, j in both:
                value, error = excess(i, j)
                best = max(best, float((value - error)[:, single].max(initial=0.0)))
        worst = Fraction(0)
        for i, j in both:
            value, error = excess(i, j)
            near = np.zeros(value.shape, bool)
            near[:, single] = ((value + error >= best) & (self._log_ratios(i, j) >= log_ratio - log_error))[:, single]
            for row, other, column in self._distinct(i, j, near):
                p, q = self._table.probability(row, column), self._table.probability(other, column)
                worst = max(worst, p - ratio * q)
        return worst

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
            alike=sum(view.merged[c] for c in columns) if view.merged else 0,
        )


def delta_bounds(parts: list[RowPairs], epsilon: Fraction, bits: int = 128) -> tuple[Bounds, Witness | None]:
    """Return bounds of the largest divergence at E = e^epsilon over several tables, and the event that reaches it.

    The divergence falls as E grows, so its exact value at a lower bound of E bounds it from above; and any event, here
    the worst one of that lower bound, bounds it from below at an upper bound of E.
    """
    low, high = exp_bounds(epsilon, bits)
    best: tuple[RowPairs, Piece] | None = None
    for rows in parts:
        piece = rows.worst_piece(low)
        if piece is not None and (best is None or piece.divergence(low) > best[1].divergence(low)):
            best = rows, piece
    if best is None:
        return (Fraction(0), Fraction(0)), None
    rows, piece = best
    return (max(piece.divergence(high), Fraction(0)), piece.divergence(low)), rows.witness_of(piece)


def _log_error(table: Table) -> float:
    """Return a bound on the error of a difference of two ``View.logs``: four logarithms and three roundings."""
    largest = max(math.log(max(table.palette)), math.log(max(table.totals)))
    return 5 * _LOG_ERROR * (1 + largest)


def column_extremes(table: Table) -> tuple[IntArray, IntArray]:
    """Return the rows where each report is likeliest and least likely: the pairs that decide the local notion.

    max over i, j, y of P(y|i)/P(y|j) is attained where, for some y, i is the likeliest and j the least likely truth.
    Floats choose; every row within the error of an extreme is kept, so the exact extreme is among them.
    """
    logs, error = log_probabilities(table), _log_error(table)
    high, low = logs.max(axis=0), logs.min(axis=0)
    possible = np.flatnonzero(high > -math.inf)  # a report of probability zero constrains nothing
    spread = high[possible] - low[possible]
    pairs: set[tuple[int, int]] = set()
    # only columns whose spread can be the largest matter, and the first infinite one is as good as any
    near = possible[spread >= spread.max() - 2 * error] if spread.max() < math.inf else possible[np.isinf(spread)][:1]
    for column in near.tolist():
        top = _one_of_each(table, np.flatnonzero(logs[:, column] >= high[column] - error), column)
        bottom = _one_of_each(table, np.flatnonzero(logs[:, column] <= low[column] + error), column)
        pairs.update((i, j) for i in top for j in bottom if i != j)
    if not pairs:  # every column is constant
        pairs = {(0, 1)}
    first, second = zip(*sorted(pairs), strict=True)
    return np.array(first), np.array(second)


def _one_of_each(table: Table, rows: Array, column: int) -> list[int]:
    """Return one row for each distinct probability of this report among the given rows."""
    seen: dict[tuple[int, int], int] = {}
    for row in rows.tolist():
        seen.setdefault((int(table.codes[row, column]), table.totals[row]), row)
    return list(seen.values())
