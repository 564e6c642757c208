"""Designs for large n by column generation over rays, which are priced one pass at a time.

Privacy, row monotonicity and weak honesty constrain one report at a time: each column of the matrix lies in a cone
whose neighbouring entries, going away from the diagonal, have ratios between two numbers, and the columns interact only
through the totals of the truths. An extreme ray of the cone takes one of the two ratios at every step; one pass finds
the best ray for given dual values (:class:`.bounds.Chain`). So the program is solved over a few rays per column, and
better rays are added while they exist (Dantzig and Wolfe; Gilmore and Gomory).

The ratios are slightly inside the allowed range. Every inequality then holds with a margin larger than any rounding of
a double, and the doubles themselves are the exact weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...exact.arrays import FloatArray, IntArray
from ...exact.tables import Table
from ...spaces import Counts
from .bounds import UNIT, Chain
from .certification import CertifiedTable, prove
from .highs import SMALL_COEFFICIENTS, TIGHT_TOLERANCES, Basis, Highs, Status
from .program import Request
from .solver import SolverFailed

#: The properties that constrain one report at a time (also RH if RM is required, which implies it).
PROPERTIES_BY_REPORT = frozenset({"S", "RM", "WH"})

#: Relative margins of the first step of a ray inside the allowed ratios; that of the k-th step is k times as large (so
#: few ratios are nearly the largest, which the judge searches for). The second is used if the first fails.
RATIO_MARGINS = (2.0**-39, 2.0**-33)

#: Least share of the explicit fair mechanism in the mixture, so that no report vanishes.
FAIR_SHARE = 2.0**-36

#: Maximum number of rounds without a gain: at degenerate vertices several new rays may be needed for one.
MAX_STALLED_ROUNDS = 12

#: Relative gap above which rays are also computed at smoothed dual values, as those still jump; and the share in them
#: of the dual values with the best known bound (Wentges 1997).
SMOOTHED_ABOVE_GAP, SMOOTHING_SHARE = 1e-4, 0.85

#: Relative gap between cost and bound at which no more rays are added.
PRICING_GAP = 1e-11

ROUNDED_INSIDE = "rounded inside the cone"

#: Weights below two to the minus this are rounded up to it, near the end of the range of doubles.
SMALLEST_WEIGHT_BITS = 960


def by_report(request: Request) -> bool:
    """Return whether the request constrains one report at a time, so that rays can answer it."""
    codes = set(request.codes)
    if "RM" in codes:
        codes.discard("RH")
    return not request.delta and request.weights is not None and codes <= PROPERTIES_BY_REPORT


@dataclass(frozen=True, eq=False)
class RayAnswer:
    """A certified table, and a lower bound of the cost of all mechanisms that meet the request."""

    certified: CertifiedTable
    bound: float


def solve_by_rays(request: Request, epsilon: Fraction) -> RayAnswer:
    """Solve, round, and certify."""
    for margin in RATIO_MARGINS:
        master = _Master(request, margin)
        bound = master.solve()
        table = _exact_table(master.matrix(), common=master.honest)
        certificate = prove(table, request, epsilon)
        if certificate is not None:
            return RayAnswer(CertifiedTable(table, certificate, ROUNDED_INSIDE), bound)
    raise SolverFailed("the rounded table could not be proved; ask for a smaller n or other properties.")


class _Master:
    """The program over the rays generated so far.

    In a problem that equals its mirror image a ray represents itself and its mirror image, and only the first half of
    truths and reports is stored.
    """

    def __init__(self, request: Request, margin: float) -> None:
        self.request, self.size = request, request.n + 1
        self.mirrored = request.mirrored or "S" in request.codes
        self.half = (self.size + 1) // 2 if self.mirrored else self.size
        alpha = float(request.alpha)
        monotone = "RM" in request.codes
        self.allowed = Chain(alpha, 1.0 if monotone else 1 / alpha)
        inside = margin * np.arange(self.size + 1)
        self.low, self.high = alpha * (1 + inside), self.allowed.high * (1 - inside)
        space = Counts(request.n)
        assert request.weights is not None
        weights = np.array([float(w) for w in request.weights])
        self.cost = weights[:, None] * request.loss.of(space, space)
        #: Unit of costs in the solver, so that they are of the size of one.
        self.unit = float(np.abs(self.cost).sum(axis=1).max()) / self.size or 1.0
        self.honest = "WH" in request.codes
        self.least = (1 + 2.0**-36) / self.size
        self.rays: list[FloatArray] = []
        self.reports: list[int] = []
        self._answer: tuple[FloatArray, Basis | None] = (np.zeros(0), None)
        self._solver = Highs({**SMALL_COEFFICIENTS, **TIGHT_TOLERANCES, "presolve": "off"})
        self._rows()

    def _rows(self) -> None:
        """Add the rows: each truth adds up to one; with weak honesty each report's diagonal entry is large enough."""
        for _ in range(self.half):
            self._solver.add_row(1.0, 1.0)
        if self.honest:
            for _ in range(self.half):
                self._solver.add_row(self.least, np.inf)

    def _folded(self, rays: FloatArray, reports: object) -> FloatArray:
        """Return the contribution of each ray (a row here) to the total of each stored truth."""
        if not self.mirrored:
            return rays
        folded = rays + rays[:, ::-1]
        folded[2 * np.asarray(reports) == self.request.n] /= 2
        return folded[:, : self.half]

    def add(self, rays: FloatArray, reports: object) -> None:
        """Add rays (one per row, diagonal entry 1) for these reports."""
        dense = self._folded(rays, reports)
        dense = np.where(np.abs(dense) > 1e-13, dense, 0.0)
        numbers = np.asarray(reports)
        folded_cost = self.cost[:, numbers].T * rays
        cost = folded_cost.sum(axis=1)
        if self.mirrored:
            mirror = (self.cost[::-1, ::-1][:, numbers].T * rays).sum(axis=1)
            cost = np.where(2 * numbers == self.request.n, (cost + mirror) / 2, cost + mirror)
        if self.honest:
            diagonal = np.zeros((len(numbers), self.half))
            diagonal[np.arange(len(numbers)), numbers] = 1.0
            dense = np.concatenate([dense, diagonal], axis=1)
        self._solver.add_columns(cost / self.unit, dense)
        self.rays += list(rays)
        self.reports += numbers.tolist()

    def _run(self) -> Status:
        """Solve; if the fast options fail, start again with the solver's defaults."""
        status = self._solver.run()
        if status is not Status.OPTIMAL:
            self._solver.forget()
            self._solver.set_options(presolve="on", simplex_strategy=1)
            status = self._solver.run()
            self._solver.set_options(presolve="off")
        return status

    def solve(self) -> float:
        """Add rays until no better ones are left, and return the bound."""
        reports = np.arange(self.half)
        self.add(self._geometric_rays()[reports], reports)
        self.add(self._fair_rays()[reports], reports)
        centre = np.zeros(self.half * (2 if self.honest else 1))
        bound, before, stalled = self._bound(*self._reduced(centre)), np.inf, 0
        for _ in range(500):
            if self._run() is not Status.OPTIMAL:
                if np.isfinite(before):  # keep the last answer; the bound states its quality
                    break
                raise SolverFailed(f"the linear solver stopped ({self._solver.reason}).")
            self._solver.set_options(simplex_strategy=4)  # primal simplex: the last answer stays feasible
            point = self._solver.point()
            duals, value = point.duals * self.unit, point.objective * self.unit
            self._answer = point.values, self._solver.basis()
            reduced, gain = self._reduced(duals)
            rays, worth = self._best(reduced)
            possible = float(np.minimum(worth, 0).sum())
            new_bound = self._bound(reduced, gain)
            if new_bound > bound:
                bound, centre = new_bound, duals
            elif -possible > SMOOTHED_ABOVE_GAP * abs(value):
                smoothed = SMOOTHING_SHARE * centre + (1 - SMOOTHING_SHARE) * duals
                smoothed_costs, smoothed_gain = self._reduced(smoothed)
                new_bound = self._bound(smoothed_costs, smoothed_gain)
                if new_bound > bound:
                    bound, centre = new_bound, smoothed
                others = self._best(smoothed_costs)[0]
                gains = self._worth(others, reduced)
                useful = np.flatnonzero(gains < 0)
                self.add(others[useful], useful)
            stalled = stalled + 1 if value >= before * (1 - PRICING_GAP / 10) else 0
            if -possible <= PRICING_GAP * abs(value) or stalled > MAX_STALLED_ROUNDS:
                break
            before = value
            useful_reports = np.flatnonzero(worth < possible / (100 * self.half))
            self.add(rays[useful_reports], useful_reports)
        return bound

    def _reduced(self, duals: FloatArray) -> tuple[FloatArray, float]:
        """Return the reduced cost of each entry for these dual values, and the constant gain from them."""
        totals, diagonal = duals[: self.half], np.maximum(duals[self.half :], 0)
        if not self.honest:
            diagonal = np.zeros(self.half)
        gain = float(totals.sum() + diagonal.sum() / self.size)
        reduced = self.cost
        if self.mirrored:
            reduced = (reduced + reduced[::-1, ::-1]) / 2
            totals, diagonal = self._unfolded(totals), self._unfolded(diagonal)
        reduced = reduced - totals[:, None]
        reduced[np.arange(self.size), np.arange(self.size)] -= diagonal
        return reduced, gain

    def _unfolded(self, duals: FloatArray) -> FloatArray:
        """Return dual values of all truths: half of each for a truth and half for its mirror image."""
        full = np.zeros(self.size)
        full[: self.half] += duals / 2
        full[::-1][: self.half] += duals / 2
        return full

    def _bound(self, reduced: FloatArray, gain: float) -> float:
        error = 8 * 2.0**-52 * (np.abs(reduced) + self.cost + abs(gain) / self.size)
        beyond, slack_of_columns = self.allowed.cheapest(reduced, error)
        column_cost = np.diagonal(reduced) + beyond - slack_of_columns - np.diagonal(error)
        column_cost = column_cost - 2.0**-50 * np.abs(column_cost)
        slack = 2.0**-50 * self.size * (abs(gain) + float(np.abs(column_cost).sum()))
        return gain + float(np.minimum(column_cost, 0).sum()) - slack

    def _best(self, reduced: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ray with the least reduced cost for each stored report, and that cost."""
        size, low, high = self.size, self.low, self.high
        rays = np.zeros((size, size))  # a row per report here
        rays[np.arange(size), np.arange(size)] = 1.0
        worth = np.diagonal(reduced).copy()
        for sign in (-1, 1):
            best = np.zeros(size)
            falls = np.empty((size, size), dtype=bool)  # whether the step from d - 1 to d takes the lower ratio
            for d in range(size - 1, 0, -1):
                part = slice(0, size - d) if sign < 0 else slice(d, size)
                stepped = np.where(best[part] >= 0, low[d + 1], high[d + 1]) * best[part]
                best[part] = np.diagonal(reduced, sign * d) + stepped
                falls[d, part] = best[part] >= 0
            worth += np.where(best >= 0, low[1], high[1]) * best
            entry = np.ones(size)
            for d in range(1, size):
                part = slice(0, size - d) if sign < 0 else slice(d, size)
                entry[part] *= np.where(falls[d, part], low[d], high[d])
                reports = np.arange(size)[part]
                rays[reports, reports - sign * d] = entry[part]
        return rays[: self.half], worth[: self.half] * (2 if self.mirrored else 1)

    def _worth(self, rays: FloatArray, reduced: FloatArray) -> FloatArray:
        """Return the reduced cost of these rays, one for each stored report."""
        worth = (rays * reduced[:, : self.half].T).sum(axis=1)
        return np.asarray(worth * (2 if self.mirrored else 1))

    def _geometric_rays(self) -> FloatArray:
        k = np.arange(self.size)
        powers = np.concatenate([[1.0], np.cumprod(self.low[1:])])
        return np.asarray(powers[np.abs(k[:, None] - k[None, :])])

    def _fair_rays(self) -> FloatArray:
        """Return the columns of the explicit fair mechanism: it has all properties, so the program is feasible."""
        size = self.size
        rays = np.ones((size, size))
        for report in range(self.half):
            for sign, length in ((-1, report), (1, size - 1 - report)):
                d = np.arange(1, length + 1)
                truth = report + sign * d
                m = np.minimum(truth, size - 1 - truth)
                falls = np.diff(np.where(d <= m, d, (d + m + 1) // 2), prepend=0) > 0
                rays[report, truth] = np.cumprod(np.where(falls, self.low[d], np.minimum(self.high[d], 1.0)))
        return rays

    def matrix(self) -> FloatArray:
        """Return the approximate probabilities: each column is a sum of its rays."""
        values = self._polished()
        matrix = np.zeros((self.size, self.size))
        for k in np.flatnonzero(values > 0).tolist():
            matrix[:, self.reports[k]] += values[k] * self.rays[k]
        if self.mirrored:
            middle = self.size // 2
            if self.size % 2:
                matrix[:, middle] = (matrix[:, middle] + matrix[::-1, middle]) / 2
            matrix[:, self.half :] = matrix[::-1, : self.size - self.half][:, ::-1]
        fair = self._fair_rays()
        fair = (
            np.concatenate([fair[: self.half], fair[: self.size - self.half][::-1, ::-1]]).T
            if self.mirrored
            else fair.T
        )
        matrix, fair = self._filled(self._filled(matrix)), self._filled(self._filled(fair / fair.sum(axis=1).max()))
        share = FAIR_SHARE
        if self.honest:
            short = max(0.0, self.least - float(np.diagonal(matrix).min()))
            share += 2 * short / (float(np.diagonal(fair).min()) - self.least)
        matrix = self._filled((1 - share) * matrix + share * fair)
        return (matrix + matrix[::-1, ::-1]) / 2 if self.mirrored else matrix

    def _filled(self, matrix: FloatArray) -> FloatArray:
        """Return a matrix with rows that add up to one: the rest is added as geometric noise, which stays in the cones.

        The inverse of the geometric matrix is tridiagonal; adding the same constant to the rest of every row makes all
        its multiples nonnegative.
        """
        missing = 1 - matrix.sum(axis=1)
        if np.abs(missing).max() <= 4 * UNIT:
            return matrix
        a = self.allowed.low
        spread = missing * (1 + a * a)
        spread[1:] -= a * missing[:-1]
        spread[:-1] -= a * missing[1:]
        spread[[0, -1]] -= a * a * missing[[0, -1]]
        constant = np.full(self.size, (1 - a) ** 2)
        constant[[0, -1]] = 1 - a
        constant_share = max(0.0, float((-spread / constant).max()))
        shares = (spread + constant_share * constant) / (1 - a * a)
        total = matrix + np.maximum(shares, 0)[None, :] * self._geometric_rays()
        return np.asarray(total / (1 + constant_share))

    def _polished(self) -> FloatArray:
        """Return the share of each ray to the precision of doubles: the solver's tolerance is too coarse for totals."""
        values, basis = self._answer
        assert basis is not None  # there is one from the first run on
        columns, rows = np.flatnonzero(basis.columns), np.flatnonzero(~basis.rows)
        values = np.concatenate([values, np.zeros(len(self.rays) - len(values))])
        if len(columns) != len(rows):  # pragma: no cover - a basis is square
            return values
        reports = np.array(self.reports)[columns]
        system = self._folded(np.array([self.rays[k] for k in columns]), reports).T
        if self.honest:
            system = np.concatenate([system, (np.arange(self.half)[:, None] == reports[None, :]).astype(float)])
        right = np.where(rows < self.half, 1.0, self.least)
        try:
            shares = np.linalg.solve(system[rows], right)
        except np.linalg.LinAlgError:
            return values
        result = np.zeros_like(values)
        result[columns] = np.maximum(shares, 0)
        return result


def _exact_table(matrix: FloatArray, *, common: bool) -> Table:
    """Return the doubles as exact integer weights above ``2**-SMALLEST_WEIGHT_BITS``, each row over its sum.

    With a common total, the rest of each row is added to the diagonal (whose entries must not be tiny). Neighbours that
    both have the smallest weight are exactly equal, which breaks no inequality.
    """
    size = len(matrix)
    distinct, codes = np.unique(np.maximum(matrix, 2.0**-SMALLEST_WEIGHT_BITS), return_inverse=True)
    codes = codes.reshape(matrix.shape)
    mantissas, exponents = np.frexp(distinct)
    whole = np.ldexp(mantissas, 53).astype(np.int64).tolist()
    least = int(exponents.min())
    palette = [m << (e - least) for m, e in zip(whole, exponents.tolist(), strict=True)]
    if not common:
        return Table.from_codes(palette, codes)
    totals = _totals(palette, codes)
    largest = max(totals)
    diagonal = np.arange(size)
    weights = [palette[c] + largest - t for c, t in zip(codes[diagonal, diagonal].tolist(), totals, strict=True)]
    codes[diagonal, diagonal] = len(palette) + np.arange(size)
    return Table.from_codes(palette + weights, codes)


def _totals(palette: list[int], codes: IntArray) -> list[int]:
    return [sum(map(palette.__getitem__, row)) for row in codes.tolist()]
