"""Large n: columns made of rays, priced one pass at a time.

Privacy, row monotonicity and weak honesty look at one report at a time: each column of the matrix lies in a cone whose
neighbouring entries, going away from the diagonal, have ratios between two numbers, and the columns meet only where
each truth's probabilities add up to one. An extreme ray of the cone takes one of the two ratios at every step; the
best one for given dual values is found by one pass (:class:`.bounds.Chain`). So the program is solved over a few rays
per column, and better rays are added until there are none (Dantzig and Wolfe; Gilmore and Gomory).

The ratios kept are a hair's breadth inside those allowed, relatively. Every inequality then holds with room that no
rounding of a double can use up, and the doubles themselves are taken as exact weights.
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

#: The properties that look at one report at a time (RH where RM is asked for, which implies it).
PROPERTIES_BY_REPORT = frozenset({"S", "RM", "WH"})

#: How far inside the allowed ratios the first step of a ray stays, relatively; the k-th stays k times as far. (So the
#: judge, who looks for the largest ratio, finds few that are nearly the largest.) The second if the first will not do.
RATIO_MARGINS = (2.0**-39, 2.0**-33)

#: At least this share of the explicit fair mechanism is mixed in, so that no report vanishes.
FAIR_SHARE = 2.0**-36

#: Rounds without any gain that are put up with: at degenerate vertices new rays may first have to line up.
MOST_STALLS = 12

#: While dual values still jump (this far from the bound, relatively), rays are also sought at smoothed ones: this share
#: of those that gave the best bound so far, the rest of the present ones (Wentges 1997).
SMOOTHED_ABOVE_GAP, SMOOTHING_SHARE = 1e-4, 0.85

#: Rays are added until the bound is this close, relatively.
PRICING_GAP = 1e-11

ROUNDED_INSIDE = "rounded inside the cone"

#: Weights below two to the minus this are rounded up to it: doubles go no further.
SMALLEST_WEIGHT_BITS = 960


def by_report(request: Request) -> bool:
    """Return whether the request looks at one report at a time, so that rays can answer it."""
    codes = set(request.codes)
    if "RM" in codes:
        codes.discard("RH")
    return not request.delta and request.weights is not None and codes <= PROPERTIES_BY_REPORT


@dataclass(frozen=True, eq=False)
class RayAnswer:
    """A proved table and a number no mechanism meeting the request can cost less than."""

    certified: CertifiedTable
    bound: float


def solve_by_rays(request: Request, epsilon: Fraction) -> RayAnswer:
    """Solve, round, and prove."""
    for margin in RATIO_MARGINS:
        master = _Master(request, margin)
        bound = master.solve()
        table = _exact_table(master.matrix(), common=master.honest)
        certificate = prove(table, request, epsilon)
        if certificate is not None:
            return RayAnswer(CertifiedTable(table, certificate, ROUNDED_INSIDE), bound)
    raise SolverFailed("the rounded table could not be proved; ask for a smaller n or other properties.")


class _Master:
    """The program over the rays found so far.

    In a problem that looks the same from both ends a ray stands for itself and its mirror image, and only the first
    half of truths and reports is kept.
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
        #: Costs are handed to the solver in this unit, so that they are of the size of one.
        self.unit = float(np.abs(self.cost).sum(axis=1).max()) / self.size or 1.0
        self.honest = "WH" in request.codes
        self.least = (1 + 2.0**-36) / self.size
        self.rays: list[FloatArray] = []
        self.reports: list[int] = []
        self._answer: tuple[FloatArray, Basis | None] = (np.zeros(0), None)
        self._solver = Highs({**SMALL_COEFFICIENTS, **TIGHT_TOLERANCES, "presolve": "off"})
        self._rows()

    def _rows(self) -> None:
        """Return each truth adds up to one; with weak honesty each report's diagonal entry is large enough."""
        for _ in range(self.half):
            self._solver.add_row(1.0, 1.0)
        if self.honest:
            for _ in range(self.half):
                self._solver.add_row(self.least, np.inf)

    def _folded(self, rays: FloatArray, reports: object) -> FloatArray:
        """Return what each ray (a row here) adds to the total of each truth kept."""
        if not self.mirrored:
            return rays
        both = rays + rays[:, ::-1]
        both[2 * np.asarray(reports) == self.request.n] /= 2
        return both[:, : self.half]

    def add(self, rays: FloatArray, reports: object) -> None:
        """Add rays (one per row, diagonal entry 1) for these reports."""
        kept = self._folded(rays, reports)
        kept = np.where(np.abs(kept) > 1e-13, kept, 0.0)
        numbers = np.asarray(reports)
        folded_cost = self.cost[:, numbers].T * rays
        cost = folded_cost.sum(axis=1)
        if self.mirrored:
            mirror = (self.cost[::-1, ::-1][:, numbers].T * rays).sum(axis=1)
            cost = np.where(2 * numbers == self.request.n, (cost + mirror) / 2, cost + mirror)
        if self.honest:
            own = np.zeros((len(numbers), self.half))
            own[np.arange(len(numbers)), numbers] = 1.0
            kept = np.concatenate([kept, own], axis=1)
        self._solver.add_columns(cost / self.unit, kept)
        self.rays += list(rays)
        self.reports += numbers.tolist()

    def _run(self) -> Status:
        """Solve; if the quick way stumbles, start over with the solver's usual care."""
        status = self._solver.run()
        if status is not Status.OPTIMAL:
            self._solver.forget()
            self._solver.set_options(presolve="on", simplex_strategy=1)
            status = self._solver.run()
            self._solver.set_options(presolve="off")
        return status

    def solve(self) -> float:
        """Add rays until no better ones are left; the bound reached."""
        reports = np.arange(self.half)
        self.add(self._geometric_rays()[reports], reports)
        self.add(self._fair_rays()[reports], reports)
        centre = np.zeros(self.half * (2 if self.honest else 1))
        bound, before, stalled = self._bound(*self._reduced(centre)), np.inf, 0
        for _ in range(500):
            if self._run() is not Status.OPTIMAL:
                if np.isfinite(before):  # what was found so far stands; the bound says how good it is
                    break
                raise SolverFailed(f"the linear solver stopped ({self._solver.reason}).")
            self._solver.set_options(simplex_strategy=4)  # from here on the last answer stays feasible
            point = self._solver.point()
            duals, value = point.duals * self.unit, point.objective * self.unit
            self._answer = point.values, self._solver.basis()
            reduced, gain = self._reduced(duals)
            rays, worth = self._best(reduced)
            possible = float(np.minimum(worth, 0).sum())
            reached = self._bound(reduced, gain)
            if reached > bound:
                bound, centre = reached, duals
            elif -possible > SMOOTHED_ABOVE_GAP * abs(value):
                smoothed = SMOOTHING_SHARE * centre + (1 - SMOOTHING_SHARE) * duals
                sought, sought_gain = self._reduced(smoothed)
                reached = self._bound(sought, sought_gain)
                if reached > bound:
                    bound, centre = reached, smoothed
                others = self._best(sought)[0]
                gains = self._worth(others, reduced)
                useful = np.flatnonzero(gains < 0)
                self.add(others[useful], useful)
            stalled = stalled + 1 if value >= before * (1 - PRICING_GAP / 10) else 0
            if -possible <= PRICING_GAP * abs(value) or stalled > MOST_STALLS:
                break
            before = value
            chosen = np.flatnonzero(worth < possible / (100 * self.half))
            self.add(rays[chosen], chosen)
        return bound

    def _reduced(self, duals: FloatArray) -> tuple[FloatArray, float]:
        """Return the cost of each place once totals and diagonal entries are paid for, and what was paid."""
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
        """Half of each dual value for a truth and half for its mirror image."""
        full = np.zeros(self.size)
        full[: self.half] += duals / 2
        full[::-1][: self.half] += duals / 2
        return full

    def _bound(self, reduced: FloatArray, gain: float) -> float:
        error = 8 * 2.0**-52 * (np.abs(reduced) + self.cost + abs(gain) / self.size)
        beyond, wrong = self.allowed.cheapest(reduced, error)
        own = np.diagonal(reduced) + beyond - wrong - np.diagonal(error)
        own = own - 2.0**-50 * np.abs(own)
        slack = 2.0**-50 * self.size * (abs(gain) + float(np.abs(own).sum()))
        return gain + float(np.minimum(own, 0).sum()) - slack

    def _best(self, reduced: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For each report kept, the ray with the least reduced cost, and that cost."""
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
        """Return the reduced cost of these rays, one for each report kept."""
        worth = (rays * reduced[:, : self.half].T).sum(axis=1)
        return np.asarray(worth * (2 if self.mirrored else 1))

    def _geometric_rays(self) -> FloatArray:
        k = np.arange(self.size)
        powers = np.concatenate([[1.0], np.cumprod(self.low[1:])])
        return np.asarray(powers[np.abs(k[:, None] - k[None, :])])

    def _fair_rays(self) -> FloatArray:
        """Return the columns of the explicit fair mechanism: it has all properties, so there always is an answer."""
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
        """Return the probabilities, nearly: each column a sum of its rays."""
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
        """Rows that add up to one: what is missing is added as a little geometric noise, which stays in the cones.

        The inverse of the geometric matrix is tridiagonal; adding the same constant to what every row lacks makes all
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
        level = max(0.0, float((-spread / constant).max()))
        shares = (spread + level * constant) / (1 - a * a)
        added = matrix + np.maximum(shares, 0)[None, :] * self._geometric_rays()
        return np.asarray(added / (1 + level))

    def _polished(self) -> FloatArray:
        """How much of each ray, as precisely as doubles go: the solver's own tolerance is too coarse for the totals."""
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
            solved = np.linalg.solve(system[rows], right)
        except np.linalg.LinAlgError:
            return values
        polished = np.zeros_like(values)
        polished[columns] = np.maximum(solved, 0)
        return polished


def _exact_table(matrix: FloatArray, *, common: bool) -> Table:
    """The doubles as exact integer weights above ``2**-SMALLEST_WEIGHT_BITS``; each row over its own or a common sum.

    With a common total, what is missing to it goes to the diagonal (whose entries must not be tiny), and neighbours
    that meet at the smallest weight are exactly equal, which breaks nothing.
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
    most = max(totals)
    diagonal = np.arange(size)
    new = [palette[c] + most - t for c, t in zip(codes[diagonal, diagonal].tolist(), totals, strict=True)]
    codes[diagonal, diagonal] = len(palette) + np.arange(size)
    return Table.from_codes(palette + new, codes)


def _totals(palette: list[int], codes: IntArray) -> list[int]:
    return [sum(map(palette.__getitem__, row)) for row in codes.tolist()]
