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
_STEP = 0.99

#: Shares of epsilon at which the first point is built; the last is strictly private.
_SAFE_SHARE = 0.5

#: Least slack of the first point, relative to the probability.
_LEAST_SLACK = 1e-3

#: Corrections of a direction towards equal products.
CORRECTIONS = 5

#: Times that Newton's equations are solved for what rounding left of them.
REFINEMENTS = 6

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

    def __init__(self, program: BlockProgram, weights: FloatArray, pattern: _Pattern) -> None:
        from scipy.linalg.lapack import dpotrf, dpotri

        n, size = len(program.cost), program.size
        self._inverses = []
        total = np.zeros((size, size), order="F")
        entries = np.asarray(pattern.entries @ weights.T)
        entries[pattern.diagonal] *= 1 + 1e-14  # a grain of regularity
        for column in entries.T:
            matrix = np.zeros(size * size)
            matrix[pattern.places] = column
            factored, bad = dpotrf(matrix.reshape(size, size).T, lower=1, overwrite_a=1, clean=0)
            if bad:
                raise np.linalg.LinAlgError("a block is not positive definite")
            inverse, _ = dpotri(factored, lower=1, overwrite_c=1)
            self._inverses.append(inverse)
            total += inverse
        coupled = total[:n, :n]
        coupled = coupled + np.tril(coupled, -1).T
        self._scale = 1 / np.sqrt(np.diagonal(coupled))
        self._coupled = coupled * self._scale[:, None] * self._scale

    def apply(self, right: FloatArray) -> FloatArray:
        """H_y^-1 for each block."""
        from scipy.linalg.blas import dsymv

        return np.array([dsymv(1.0, one, row, lower=1) for one, row in zip(self._inverses, right, strict=True)])

    def couple(self, right: FloatArray) -> FloatArray:
        """The inverse of the sum of all H_y^-1."""
        return np.asarray(self._scale * np.linalg.solve(self._coupled, self._scale * right))


def solve_blocks(program: BlockProgram, tolerance: float, start: BlockPoint | None = None) -> BlockPoint:
    """An interior point near the optimum, with dual values: Mehrotra's predictor and corrector.

    Parameters
    ----------
    tolerance
        The search ends when cost and bound differ by less than this, relative to the cost.
    start
        A point of a program with the same pairs, to start from.
    """
    from scipy.sparse import csr_array

    n, size, edges = len(program.cost), program.size, len(program.tail)
    blocks = program.cost.shape[1]
    tail, head, factor = program.tail, program.head, program.factor
    row = np.arange(edges)
    matrix = csr_array(
        (np.r_[factor, -np.ones(edges)], (np.r_[row, row], np.r_[head, tail])), shape=(edges, size)
    )
    transposed = matrix.T.tocsr()
    pattern = _Pattern(program)
    cost = np.zeros((blocks, size))
    cost[:, :n] = program.cost.T
    scale = max(float(np.abs(cost).max()), 1e-300)
    cost /= scale

    def slack(v: FloatArray) -> FloatArray:
        return np.asarray(v[:, head] * factor - v[:, tail])

    def pull(z: FloatArray) -> FloatArray:
        return np.asarray((transposed @ z.T).T)

    if start is None:
        v, lam = _first_point(program), np.zeros(n)
        s = slack(v)
        z = float((cost * v).sum()) / (blocks * edges) / s
    else:
        v, lam, z = start.v.copy(), start.lam / scale, start.z / scale
        s = slack(v)
    earlier: BlockPoint | None = None
    best: BlockPoint | None = None
    for iteration in range(MAX_ITERATIONS):
        r_dual = cost - pull(z)
        r_dual[:, :n] -= lam
        r_sum = 1 - v[:, :n].sum(axis=0)
        value = float((cost * v).sum())
        least = float(lam.sum() + np.minimum(r_dual[:, :n].min(axis=0), 0).sum()) if size == n else _bound(
            r_dual, lam, n, program
        )
        gap = (value - least) / max(abs(value), 1e-12)
        point = BlockPoint(v, lam * scale, z * scale, gap, iteration, earlier)
        if best is None or gap < best.gap:
            best = point
        if gap < 0.1 and earlier is None:
            earlier = point
        if gap < tolerance and float(np.abs(r_sum).max()) < 1e-9:
            break
        try:
            newton = _Newton(program, z / s, pattern)
        except np.linalg.LinAlgError:
            break
        mu = float((s * z).mean())

        def direction(
            complement: FloatArray,
        ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
            # Newton's equations, and the same for what rounding left of them
            dv, dlam = np.zeros_like(v), np.zeros(n)  # noqa: B023 - called before the loop goes on
            left, left_sum = pull(complement / s) - r_dual, r_sum  # noqa: B023
            size_before = np.inf
            for _ in range(REFINEMENTS):
                fixed = newton.apply(left)  # noqa: B023
                more = newton.couple(left_sum - fixed[:, :n].sum(axis=0))  # noqa: B023
                left[:, :n] += more
                dv, dlam = dv + newton.apply(left), dlam + more  # noqa: B023
                left = pull(complement / s) - r_dual - pull(z / s * slack(dv))  # noqa: B023
                left[:, :n] += dlam
                left_sum = r_sum - dv[:, :n].sum(axis=0)  # noqa: B023
                remaining = float(np.abs(left).max())
                if remaining < 1e-3 * tolerance / n or remaining > size_before / 2:
                    break
                size_before = remaining
            ds = slack(dv)
            return dv, dlam, ds, (complement - z * ds) / s  # noqa: B023

        _, _, ds, dz = direction(-s * z)
        ahead, behind = _longest(s, ds), _longest(z, dz)
        sigma = (float(((s + ahead * ds) * (z + behind * dz)).mean()) / mu) ** 3
        complement = sigma * mu - s * z - ds * dz
        dv, dlam, ds, dz = direction(complement)
        ahead, behind = _longest(s, ds), _longest(z, dz)
        for _ in range(CORRECTIONS):  # products far from their mean are moved towards it (Gondzio 1996)
            product = (s + min(1.0, ahead + 0.3) * ds) * (z + min(1.0, behind + 0.3) * dz)
            goal = sigma * mu
            complement = complement + np.maximum(np.clip(product, 0.1 * goal, 10 * goal) - product, -10 * goal)
            moved = direction(complement)
            farther, farther_behind = _longest(s, moved[2]), _longest(z, moved[3])
            if farther + farther_behind < ahead + behind + 0.05:
                break
            (dv, dlam, ds, dz), ahead, behind = moved, farther, farther_behind
        ahead, behind = min(1.0, _STEP * ahead), min(1.0, _STEP * behind)
        if not (np.isfinite(dv).all() and np.isfinite(dz).all()) or max(ahead, behind) < 1e-10:
            break
        v = v + ahead * dv
        lam, z = lam + behind * dlam, z + behind * dz
        s = slack(v)
        if s.min() <= 0:  # rounding: go back to the best point
            break
    assert best is not None
    return best


def _first_point(program: BlockProgram) -> FloatArray:
    """Probabilities that fall with the distance from the truth of each report, strictly inside all inequalities.

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
        slack = v[:, program.head] * program.factor - v[:, program.tail]
        if (slack > _LEAST_SLACK * v[:, program.tail]).all():
            return np.asarray(v)
    uniform = np.full((program.cost.shape[1], size), 1 / program.cost.shape[1])
    if size > n:
        uniform[:, n:] *= np.exp(-program.log_factor.max() / 2)
    return uniform


def _bound(r_dual: FloatArray, lam: FloatArray, n: int, program: BlockProgram) -> float:
    """The bound with auxiliary variables, whose own residuals count where they are negative.

    Each is at most e^log_factor times the variable of some truth, and so at most that many times one in all.
    """
    extra = np.minimum(r_dual[:, n:], 0).min(axis=0).sum() * float(np.exp(program.log_factor.max()))
    return float(lam.sum() + np.minimum(r_dual[:, :n].min(axis=0), 0).sum() + extra)


def _longest(x: FloatArray, dx: FloatArray) -> float:
    """The longest step at which x stays positive, at most 1."""
    falling = dx < 0
    return float(min(1.0, (x[falling] / -dx[falling]).min())) if falling.any() else 1.0


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
