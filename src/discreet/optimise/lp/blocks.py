"""Linear programs of mechanisms on spaces with many pairs to protect: an interior point, a block for each report.

The program is

    minimise    sum_y c_y . v_y            over v_y >= 0, the probabilities of report y under each truth
    subject to  sum_y v_y = 1              each truth's probabilities add up to one
                A v_y >= 0  for each y     v_y(x) <= factor(x, x') v_y(x') for every pair that is protected

Reports are coupled by the sums alone. Newton's equations are therefore solved block by block: with the slacks
``s_y = A v_y`` and their dual values ``z_y``, ``H_y = A' diag(z_y / s_y) A`` and the dual values ``lam`` of the sums
solve ``(sum_y H_y^-1) dlam = ...``. Factoring is scale invariant, so entries as small as e^-100 do no harm.

Nothing here is believed: a mechanism is made of the point and judged, and :func:`lower_bound` turns any dual values
into a bound that accounts for every rounding (weak duality):

    cost >= sum_x lam(x) + sum_x min_y (c_y - lam - A' z_y)(x).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...exact.arrays import FloatArray, IntArray

#: Steps keep this share of the distance to the boundary.
_STEP = 0.97

#: Shares of epsilon at which the first point is built; the last is strictly private.
_SAFE_SHARE = 0.5

#: Least slack of the first point, relative to the probability.
_LEAST_SLACK = 1e-3

#: Share of equal probabilities in the first point: without it, those of far reports begin too small to move.
_EQUAL_SHARE = 0.1

#: While cost and bound differ by more than this, many blocks are factored in single precision, and refined.
_QUICK_GAP, _MANY_BLOCKS = 0.05, 150

#: Shares of the diagonal that are added to it: a grain of regularity in each precision.
_GRAIN, _QUICK_GRAIN = 1e-14, 1e-6

#: Share of the gap that residuals of Newton's equations may cost.
_NEGLIGIBLE = 1e-2

#: Corrections of a direction towards equal products.
CORRECTIONS = 5

#: Times that Newton's equations are solved for what rounding left of them.
REFINEMENTS = 6

#: Gap of the point that is kept for a start of the program with other factors.
EARLIER = 0.3

#: Steps shorter than this lead nowhere, and sums of probabilities are this close to one at the end.
_SHORTEST_STEP, _SUMS_TOLERANCE = 1e-10, 1e-9

#: Iterations after which the search ends.
MAX_ITERATIONS = 80

#: Relative error of e^x in doubles, and of a product with it, generously.
ROUNDING = 2.0**-48


@dataclass(frozen=True, eq=False)
class BlockProgram:
    """The program above.

    Attributes
    ----------
    cost
        A row for each truth, a column for each report.
    tail, head, log_factor
        The protected pairs: ``v(tail) <= e^log_factor v(head)`` in every report. Indices from ``len(cost)`` on are
        auxiliary variables, one of each for every report, that belong to no sum.
    """

    cost: FloatArray
    tail: IntArray
    head: IntArray
    log_factor: FloatArray

    @property
    def size(self) -> int:
        """The number of variables of a block."""
        return max(len(self.cost), int(max(self.tail.max(), self.head.max())) + 1)

    @property
    def factor(self) -> FloatArray:
        return np.exp(self.log_factor)


@dataclass(frozen=True, eq=False)
class BlockPoint:
    """Probabilities (a row for each report), dual values of sums and of pairs, and how the search ended."""

    v: FloatArray
    lam: FloatArray
    z: FloatArray
    gap: float
    iterations: int
    earlier: BlockPoint | None = field(default=None, repr=False)


class _Pattern:
    """Where the entries of ``A' diag(w) A`` stand below the diagonal, and how they come from w."""

    def __init__(self, program: BlockProgram) -> None:
        from scipy.sparse import csr_array

        size, edges, factor = program.size, len(program.tail), program.factor
        row = np.arange(edges)
        low, high = np.minimum(program.tail, program.head), np.maximum(program.tail, program.head)
        places = np.r_[program.head * (size + 1), program.tail * (size + 1), low * size + high]  # column by column
        self.places, where = np.unique(places, return_inverse=True)
        values = np.r_[factor**2, np.ones(edges), -factor]
        shape = (len(self.places), edges)
        self.entries = csr_array((values, (where.ravel(), np.r_[row, row, row])), shape=shape)
        self.diagonal = np.searchsorted(self.places, np.arange(size) * (size + 1))


class _Newton:
    """The matrices H_y of one point, inverted, and the sum of the inverses over the coupled variables."""

    def __init__(self, program: BlockProgram, weights: FloatArray, pattern: _Pattern, quick: bool) -> None:
        from scipy.linalg import blas, lapack

        factor, invert = (lapack.spotrf, lapack.spotri) if quick else (lapack.dpotrf, lapack.dpotri)
        self._multiply = blas.ssymv if quick else blas.dsymv
        self._kind: type[np.floating] = np.float32 if quick else np.float64
        n, size = len(program.cost), program.size
        self._inverses = []
        total = np.zeros((size, size), order="F")
        entries = np.asarray(pattern.entries @ weights.T)
        entries[pattern.diagonal] *= 1 + (_QUICK_GRAIN if quick else _GRAIN)
        for column in entries.T:
            matrix = np.zeros(size * size, self._kind)
            matrix[pattern.places] = column
            factored, bad = factor(matrix.reshape(size, size).T, lower=1, overwrite_a=1, clean=0)
            if bad:
                raise np.linalg.LinAlgError("a block is not positive definite")
            inverse, _ = invert(factored, lower=1, overwrite_c=1)
            self._inverses.append(inverse)
            total += inverse
        if not np.isfinite(total).all():
            raise np.linalg.LinAlgError("an inverse is too large")
        coupled = total[:n, :n]
        coupled = coupled + np.tril(coupled, -1).T
        self._scale = 1 / np.sqrt(np.diagonal(coupled))
        self._coupled = coupled * self._scale[:, None] * self._scale

    def apply(self, right: FloatArray) -> FloatArray:
        """H_y^-1 for each block."""
        rows = right.astype(self._kind)
        pairs = zip(self._inverses, rows, strict=True)
        return np.array([self._multiply(1.0, one, row, lower=1) for one, row in pairs], dtype=float)

    def couple(self, right: FloatArray) -> FloatArray:
        """Return the inverse of the sum of all H_y^-1."""
        return np.asarray(self._scale * np.linalg.solve(self._coupled, self._scale * right))


class _Operators:
    """A program in the numbers that Newton's method uses, with costs of at most one."""

    def __init__(self, program: BlockProgram, tolerance: float) -> None:
        from scipy.sparse import csr_array

        self.program, self.tolerance = program, tolerance
        self.n, self.size, edges = len(program.cost), program.size, len(program.tail)
        row = np.arange(edges)
        values, places = np.r_[program.factor, -np.ones(edges)], np.r_[program.head, program.tail]
        self._transposed = csr_array((values, (places, np.r_[row, row])), shape=(self.size, edges))
        self.pattern = _Pattern(program)
        self.cost = np.zeros((program.cost.shape[1], self.size))
        self.cost[:, : self.n] = program.cost.T
        self.scale = max(float(np.abs(self.cost).max()), 1e-300)
        self.cost /= self.scale

    def slack(self, v: FloatArray) -> FloatArray:
        """Return a v of each block."""
        return _slack(self.program, v)

    def pull(self, z: FloatArray) -> FloatArray:
        """Return a' z of each block."""
        return np.asarray((self._transposed @ z.T).T)


@dataclass(frozen=True, eq=False)
class _Step:
    """A direction, and how far one can go in it: with probabilities and slacks, and with dual values."""

    dv: FloatArray
    dlam: FloatArray
    ds: FloatArray
    dz: FloatArray
    ahead: float
    behind: float


class _Iterate:
    """A point inside: probabilities v with slacks s, dual values lam of sums and z of pairs, and what they lack."""

    def __init__(self, operators: _Operators, v: FloatArray, lam: FloatArray, z: FloatArray) -> None:
        self.operators, self.v, self.lam, self.z = operators, v, lam, z
        self.s = operators.slack(v)
        n = operators.n
        self.lacking_dual = operators.cost - operators.pull(z)
        self.lacking_dual[:, :n] -= lam
        self.lacking_sum = 1 - v[:, :n].sum(axis=0)
        self.value = float((operators.cost * v).sum())
        self.gap = (self.value - self._least()) / max(abs(self.value), 1e-12)
        self.mean = float((self.s * z).mean())

    def _least(self) -> float:
        """Return the bound; auxiliary variables are at most e^log_factor times some probability."""
        n, program = self.operators.n, self.operators.program
        spare = np.minimum(self.lacking_dual[:, n:], 0).min(axis=0).sum() * float(np.exp(program.log_factor.max()))
        return float(self.lam.sum() + np.minimum(self.lacking_dual[:, :n].min(axis=0), 0).sum() + spare)

    def newton(self) -> _Newton:
        """Return the matrices here, in single precision where that is enough."""
        program, pattern, weights = self.operators.program, self.operators.pattern, self.z / self.s
        if self.gap > _QUICK_GAP and len(weights) > _MANY_BLOCKS:
            try:
                with np.errstate(over="ignore"):
                    return _Newton(program, weights, pattern, True)
            except np.linalg.LinAlgError:
                pass
        return _Newton(program, weights, pattern, False)

    def step(self, newton: _Newton, complement: FloatArray) -> _Step:
        """Return the solution of Newton's equations for these products s z, with refinement of what rounding left."""
        operators, n, s, z = self.operators, self.operators.n, self.s, self.z
        right = operators.pull(complement / s) - self.lacking_dual
        dv, dlam = np.zeros_like(self.v), np.zeros(n)
        left, left_sum, before = right.copy(), self.lacking_sum, np.inf
        for _ in range(REFINEMENTS):
            more = newton.couple(left_sum - newton.apply(left)[:, :n].sum(axis=0))
            left[:, :n] += more
            dv, dlam = dv + newton.apply(left), dlam + more
            left = right - operators.pull(z / s * operators.slack(dv))
            left[:, :n] += dlam
            left_sum = self.lacking_sum - dv[:, :n].sum(axis=0)
            remaining = float(np.abs(left).max())
            if (
                remaining < _NEGLIGIBLE * max(operators.tolerance, self.gap * abs(self.value)) / n
                or remaining > before / 2
            ):
                break
            before = remaining
        ds = operators.slack(dv)
        dz = (complement - z * ds) / s
        return _Step(dv, dlam, ds, dz, _longest(s, ds), _longest(z, dz))

    def next(self) -> _Iterate | None:
        """Return the point after predictor, corrector and centrality corrections; None where rounding forbids one."""
        try:
            newton = self.newton()
        except np.linalg.LinAlgError:
            return None
        s, z = self.s, self.z
        step = self.step(newton, -s * z)
        sigma = (float(((s + step.ahead * step.ds) * (z + step.behind * step.dz)).mean()) / self.mean) ** 3
        goal = sigma * self.mean
        complement = goal - s * z - step.ds * step.dz
        step = self.step(newton, complement)
        for _ in range(CORRECTIONS):  # products far from their mean are moved towards it (Gondzio 1996)
            product = (s + min(1.0, step.ahead + 0.3) * step.ds) * (z + min(1.0, step.behind + 0.3) * step.dz)
            complement = complement + np.maximum(np.clip(product, 0.1 * goal, 10 * goal) - product, -10 * goal)
            moved = self.step(newton, complement)
            if moved.ahead + moved.behind < step.ahead + step.behind + 0.05:
                break
            step = moved
        ahead, behind = min(1.0, _STEP * step.ahead), min(1.0, _STEP * step.behind)
        if not (np.isfinite(step.dv).all() and np.isfinite(step.dz).all()) or max(ahead, behind) < _SHORTEST_STEP:
            return None
        v, lam, z = self.v + ahead * step.dv, self.lam + behind * step.dlam, self.z + behind * step.dz
        if self.operators.slack(v).min() <= 0:
            return None
        return _Iterate(self.operators, v, lam, z)


def solve_blocks(program: BlockProgram, tolerance: float, start: BlockPoint | None = None) -> BlockPoint:
    """Return an interior point near the optimum, with dual values: Mehrotra's predictor and corrector.

    Parameters
    ----------
    tolerance
        The search ends when cost and bound differ by less than this, relative to the cost.
    start
        A point of a program with the same pairs, to start from.
    """
    operators = _Operators(program, tolerance)
    scale = operators.scale
    if start is None:
        v = _first_point(program)
        s = operators.slack(v)
        now: _Iterate | None = _Iterate(
            operators, v, np.zeros(operators.n), float((operators.cost * v).sum()) / s.size / s
        )
    else:
        now = _Iterate(operators, start.v, start.lam / scale, start.z / scale)
    earlier: BlockPoint | None = None
    best: BlockPoint | None = None
    for iteration in range(MAX_ITERATIONS):
        assert now is not None
        point = BlockPoint(now.v, now.lam * scale, now.z * scale, now.gap, iteration, earlier)
        if best is None or now.gap < best.gap:
            best = point
        if now.gap < EARLIER and earlier is None:
            earlier = point
        if now.gap < tolerance and float(np.abs(now.lacking_sum).max()) < _SUMS_TOLERANCE:
            break
        now = now.next()
        if now is None:
            break
    assert best is not None
    return best


def _first_point(program: BlockProgram) -> FloatArray:
    """Return probabilities that fall with the distance from the truth of each report, strictly inside all inequalities.

    With L the length of the shortest path by log factors, e^(-L/2) divided by its sums is: the sums change by a factor
    of less than e^(L/2).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    n, size = program.cost.shape[0], program.size
    lengths = csr_array((program.log_factor + 1e-300, (program.tail, program.head)), shape=(size, size))
    far = shortest_path(lengths, method="D", directed=True)
    far = np.maximum(far, far.T)
    middle = program.cost.argmin(axis=0)  # the truth that a report serves best
    for share in (0.9, 0.7, _SAFE_SHARE):
        weights = np.exp(-share * far)
        v = (weights[:, middle] / weights[:n, middle].sum(axis=1).max()).T
        v[:, :n] = (weights[:n, middle] / weights[:n, middle].sum(axis=1)[:, None]).T
        if (_slack(program, v) > _LEAST_SLACK * v[:, program.tail]).all():
            return np.asarray((1 - _EQUAL_SHARE) * v + _EQUAL_SHARE * v.mean(axis=0))
    uniform = np.full((program.cost.shape[1], size), 1 / program.cost.shape[1])
    if size > n:
        uniform[:, n:] *= np.exp(-program.log_factor.max() / 2)
    return uniform


def _slack(program: BlockProgram, v: FloatArray) -> FloatArray:
    """Return A v of each block. Rows of the transpose are gathered, as they lie together in memory."""
    columns = np.ascontiguousarray(v.T)
    return np.asarray((columns[program.head] * program.factor[:, None] - columns[program.tail]).T)


def _longest(x: FloatArray, dx: FloatArray) -> float:
    """Return the longest step at which x stays positive, at most 1."""
    return float(1 / max(1.0, -(dx / x).min()))


def lower_bound(program: BlockProgram, lam: FloatArray, z: FloatArray) -> float:
    """What no feasible point of the program costs less than, by any dual values; every rounding is accounted for.

    Factors are rounded up: a larger factor allows more. Without auxiliary variables v >= 0 and the sums are used.
    """
    n, edges = len(program.cost), len(program.tail)
    factor = program.factor * (1 + ROUNDING * (1 + program.log_factor))
    z = np.maximum(z, 0)
    size = program.size
    pulled, sizes = np.zeros((len(z), size)), np.zeros((len(z), size))
    number = np.bincount(np.r_[program.tail, program.head], minlength=size).max() + 8
    for e in range(edges):  # in this order everywhere, so that the bound of the rounding holds
        inward, outward = z[:, e] * factor[e], z[:, e]
        pulled[:, program.head[e]] += inward
        pulled[:, program.tail[e]] -= outward
        sizes[:, program.head[e]] += inward
        sizes[:, program.tail[e]] += outward
    cost = np.zeros((len(z), size))
    cost[:, :n] = program.cost.T
    prices = np.zeros(size)
    prices[:n] = lam
    rounding = (number + 8) * 2.0**-52 * (np.abs(cost) + np.abs(prices) + sizes)
    rest = cost - prices - pulled - rounding
    if size > n:
        rest, spare = rest[:, :n], rest[:, n:]
        most = float(np.exp(program.log_factor.max())) * (1 + 1e-9)
        extra = float(np.minimum(spare, 0).min(axis=0).sum()) * most
    else:
        extra = 0.0
    least = rest[:, :n].min(axis=0)
    total = float(lam.sum() + least.sum() + extra)
    return total - (n + 8) * 2.0**-52 * (float(np.abs(lam).sum() + np.abs(least).sum()) + abs(extra))
