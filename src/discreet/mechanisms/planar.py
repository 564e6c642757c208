"""Noise on a map: the planar geometric and the planar Laplace mechanism.

Both report a cell y for a true cell x with a probability that falls like e^(-epsilon d(x, y)), d in metres between the
centres of the cells. The guarantee is *metric* (geo-indistinguishability): between any two true cells ::

    P(y | x) <= e^(epsilon d(x, x')) P(y | x')      for every report y

It holds **between cell centres**. Two people one metre apart across an edge are one whole cell apart; two in the same
cell are never distinguished.

The sums over the infinite lattice have no closed form, so weights are computed in doubles, with every term positive
and scaled so that the *relative* error stays near 1e-13 however small the weight, and epsilon is lowered by 2^-24 of
itself to leave room for that. This file only proposes: the judge checks the integers that come out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput, InWords, named
from ..exact.arrays import FloatArray, IntArray
from ..exact.lattice import Border, Lattice
from ..exact.rationals import Number, read_epsilon
from ..mechanism import Mechanism, finish
from ..spaces import Grid

#: Epsilon is lowered by this share of itself, so that rounding (and the judge's tolerance) stays on the private side.
EPSILON_SLACK = Fraction(1, 2**24)

#: The range of epsilon times the side of a cell.
STEPS = SMALLEST_STEP, LARGEST_STEP = Fraction(1, 200), Fraction(50)

#: Maximum size of all integer weights, in bytes.
MAX_WEIGHT_BYTES = 2**28

#: Sums over displacements end where terms have fallen to e^-LARGEST_EXPONENT, 4e-18, of the first.
LARGEST_EXPONENT = 40.0

#: Maximum number of values of e^(-kappa d) in memory at a time.
WEIGHTS_PER_BLOCK = 1 << 20


def planar_geometric(grid: Grid, *, epsilon: Number, border: Border = "remap") -> Mechanism:
    """Report a cell of a map with a probability that falls geometrically with its distance from the true one.

    ``P(y | x)`` is proportional to ``e^(-epsilon d(x, y))``, with d the distance between the centres of the cells. The
    guarantee is metric, and **between cell centres**: telling x from x' is limited by ``e^(epsilon d(x, x'))``. Two
    people one metre apart across an edge are one whole cell apart.

    Parameters
    ----------
    grid
        The cells, such as ``Grid(30, 30, cell=150.0)``.
    epsilon
        Per metre (per unit of ``cell``). ``ln(2) / 200`` lets places 200 m apart differ by a factor of two.
    border
        ``"remap"``: noise on the infinite lattice; a report outside the map is moved to its nearest cell. This keeps
        the epsilon asked for. ``"normalise"``: reports outside the map are excluded, as in [A]. The factor that makes
        up for them depends on the true cell and gives some of it away: the verified epsilon is larger than the one
        asked for (at most twice; 1.53 times at [A]'s setting), and the certificate states the verified one. Maps of
        more than 2500 cells can then be analysed but not sampled.

    References
    ----------
    [A] section IV-B; Chatzikokolakis, Andres, Bordenabe, Palamidessi 2013 (metric privacy).

    Examples
    --------
    >>> m = planar_geometric(Grid(4, 4, cell=100.0), epsilon=0.01)
    >>> m.certificate.epsilon <= 0.01
    True
    >>> planar_geometric(Grid(4, 4, cell=100.0), epsilon=0.01, border="normalise").certificate.epsilon > 0.01
    True
    """
    return _mechanism("planar_geometric", grid, epsilon, border)


def planar_laplace(grid: Grid, *, epsilon: Number, border: Border = "remap") -> Mechanism:
    """Report the cell where planar Laplace noise, added to the centre of the true cell, ends up.

    The density of the noise is ``epsilon^2 / (2 pi) e^(-epsilon r)``; it is integrated over each cell, tails complete.
    The guarantee is metric, and **between cell centres**, as for :func:`planar_geometric`.

    Parameters
    ----------
    grid
        The cells, such as ``Grid(30, 30, cell=150.0)``.
    epsilon
        Per metre (per unit of ``cell``).
    border
        ``"remap"``: noise that leaves the map is moved to its nearest cell; the epsilon asked for is kept.
        ``"normalise"``: it is excluded; the verified epsilon, which the certificate states, is larger than the one
        asked for on all but the smallest maps (at most twice; 1.28 times at [A]'s setting).

    References
    ----------
    [A] section IV-A; Andres, Bordenabe, Chatzikokolakis, Palamidessi 2013 (geo-indistinguishability).

    Examples
    --------
    >>> planar_laplace(Grid(4, 4, cell=100.0), epsilon=0.01).certificate.epsilon <= 0.01
    True
    """
    return _mechanism("planar_laplace", grid, epsilon, border)


def _mechanism(family: str, grid: Grid, epsilon: Number, border: Border) -> Mechanism:
    rate = read_epsilon(epsilon)
    kernel = (geometric_kernel if family == "planar_geometric" else laplace_kernel)(grid, rate, border)
    parameters = {"grid": grid.to_json(), "epsilon": str(rate), "border": border}
    claim = rate if border == "remap" else None
    how = "largest log-ratio per distance between cell centres, over all cells and reports, from the integer weights"
    details = {"nominal_epsilon": float(rate), "border": border}
    return finish(
        family, grid, grid, kernel, parameters,
        notion="metric", epsilon=claim, how=how, details=details, closed_form=True,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ kernels


def geometric_kernel(grid: Grid, epsilon: Fraction, border: Border = "remap") -> Lattice:
    """Return the exact law of :func:`planar_geometric`."""
    kappa = _step(grid, epsilon, border)
    rows, cols = (_points(n, _extent(grid, kappa, n)) for n in (grid.rows, grid.cols))
    return _lattice(*_masses(rows, cols, kappa), grid, kappa, border)


def laplace_kernel(grid: Grid, epsilon: Fraction, border: Border = "remap") -> Lattice:
    """Return the exact law of :func:`planar_laplace`."""
    kappa = _step(grid, epsilon, border)
    rows, cols = (_intervals(n, _extent(grid, kappa, n - 0.5), kappa) for n in (grid.rows, grid.cols))
    factor, nearest = _masses(rows, cols, kappa)
    factor[0, 0], nearest[0, 0] = _own_cell(kappa), 0.0
    return _lattice(factor, nearest, grid, kappa, border)


def _step(grid: Grid, epsilon: Fraction, border: Border) -> float:
    """Return kappa, the epsilon per cell of the weights."""
    if not isinstance(grid, Grid):
        raise InvalidInput.must_be("the space", "a Grid, such as Grid(30, 30, cell=150.0)", grid, argument="grid")
    if border not in ("remap", "normalise"):
        raise InvalidInput.must_be("border", "'remap' or 'normalise'", border)
    step = epsilon * grid.unit
    if not SMALLEST_STEP <= step <= LARGEST_STEP:
        advice = (
            "reports would be nearly uniform: use larger cells or a larger epsilon"
            if step < SMALLEST_STEP
            else "every report would be the true cell: use smaller cells or a smaller epsilon"
        )
        product = f"{float(step):.3g} ({float(epsilon):.3g} per metre times {float(grid.unit):.3g} m)"
        raise InvalidInput.must_be(
            f"{named('epsilon')} times the side of a cell",
            f"between {float(SMALLEST_STEP)} and {float(LARGEST_STEP)}",
            InWords(product),
            f"Here {advice}.",
        )
    size = grid.size * float(step) * math.hypot(grid.rows, grid.cols) / 10
    if size > MAX_WEIGHT_BYTES:
        raise InvalidInput(
            f"the exact weights of {grid.size} cells at epsilon * cell = {float(step):.3g} would take "
            f"{size / 2**20:.0f} MiB; at most {MAX_WEIGHT_BYTES / 2**20:.0f} are allowed.",
            "Use fewer cells or a smaller epsilon.",
            argument="grid",
        )
    return float(step if border == "normalise" else step * (1 - EPSILON_SLACK))


# ------------------------------------------------------------------------------------------------ masses


@dataclass(frozen=True)
class _Axis:
    """Nodes and weights along one axis, in groups: displacements 0, 1, ..., n-1, then all from n on.

    A sum over the lattice has the lattice points as nodes; an integral has those of a quadrature rule.
    """

    nodes: FloatArray
    weights: FloatArray
    starts: IntArray

    @property
    def nearest(self) -> FloatArray:
        """The distance of the nearest node of each group."""
        return np.minimum.reduceat(np.abs(self.nodes), self.starts)

    @property
    def slices(self) -> list[slice]:
        ends = [*self.starts[1:].tolist(), len(self.nodes)]
        return [slice(start, end) for start, end in zip(self.starts.tolist(), ends, strict=True)]


def _extent(grid: Grid, kappa: float, start: float) -> float:
    """Return the end of an axis: the distance from the origin there is LARGEST_EXPONENT / kappa more than at ``start``.

    Seen from a place far off the axis the distance grows slowly: the worst place is the far end of the other axis.
    """
    far, more = math.hypot(grid.rows, grid.cols), LARGEST_EXPONENT / kappa
    return math.sqrt(start * start + 2 * far * more + more * more)


def _points(n: int, end: float) -> _Axis:
    nodes = np.arange(math.ceil(end) + 1, dtype=np.float64)
    return _Axis(nodes, np.ones_like(nodes), np.arange(n + 1))


def _intervals(n: int, end: float, kappa: float) -> _Axis:
    """Return Gauss-Legendre nodes on the halves of each cell, then on intervals that double up to a limit.

    The limit is 4 / kappa, because of the factor e^(-kappa x).

    The integrand is analytic away from the origin; an interval no longer than its distance from the origin keeps the
    error below 5.8^(-2 order), and the order grows with the range of e^(-kappa x) inside an interval.
    """
    order = 12 + math.ceil(kappa / 4)
    node, weight = np.polynomial.legendre.leggauss(order)
    edges = [-0.5 + 0.5 * k for k in range(2 * n + 1)]
    while edges[-1] < end:
        edges.append(edges[-1] + min(max(edges[-1], 0.5), max(0.5, 4 / kappa)))
    left, half = np.array(edges[:-1]), np.diff(edges) / 2
    nodes = (left + half)[:, None] + half[:, None] * node
    return _Axis(nodes.ravel(), (half[:, None] * weight).ravel(), np.arange(n + 1) * 2 * order)


def _masses(rows: _Axis, cols: _Axis, kappa: float) -> tuple[FloatArray, FloatArray]:
    """Return the mass of every pair of groups as ``factor * e^(-kappa nearest)``, so that nothing underflows.

    Masses are sums of weight * weight' * e^(-kappa |(x, y)|) over the nodes x of one group and y of the other.
    """
    nearest = np.hypot.outer(rows.nearest, cols.nearest)
    factor = np.zeros_like(nearest)
    widths = np.diff([*cols.starts.tolist(), len(cols.nodes)])
    squares = cols.nodes**2
    for group, nodes in enumerate(rows.slices):
        offset = np.repeat(nearest[group], widths)
        step = max(1, WEIGHTS_PER_BLOCK // len(cols.nodes))
        for start in range(nodes.start, nodes.stop, step):
            block = slice(start, min(start + step, nodes.stop))
            terms = np.sqrt(rows.nodes[block, None] ** 2 + squares)
            terms -= offset
            terms *= -kappa
            np.exp(terms, out=terms)
            factor[group] += np.add.reduceat(rows.weights[block] @ terms * cols.weights, cols.starts)
    return factor, nearest


def _own_cell(kappa: float) -> float:
    """Return the integral of e^(-kappa r) over the cell around the origin: eight triangles with a corner there.

    With (x, y) = (s, s t), 0 < s < 1/2 and 0 < t < 1, the area element is s and r = s sqrt(1 + t^2) is smooth.
    """
    node, weight = np.polynomial.legendre.leggauss(40)
    node, weight = (node + 1) / 2, weight / 2
    s = node[:, None] / 2
    return float(8 * (weight / 2 @ (s * np.exp(-kappa * s * np.sqrt(1 + node**2))) @ weight))


# ------------------------------------------------------------------------------------------------ integers


def _lattice(factor: FloatArray, nearest: FloatArray, grid: Grid, kappa: float, border: Border) -> Lattice:
    if border == "remap":
        factor, nearest = _lump(factor, nearest, kappa)
        factor, nearest = (part.T for part in _lump(factor.T, nearest.T, kappa))
    factor, nearest = factor[: grid.rows, : grid.cols], nearest[: grid.rows, : grid.cols]
    if grid.rows == grid.cols:  # the same sums in another order: make them the same doubles
        factor = np.where(np.tri(grid.rows, dtype=bool), factor, factor.T)
    palette, codes = _integers(factor, nearest, kappa)
    return Lattice(palette, codes, border)


def _lump(factor: FloatArray, nearest: FloatArray, kappa: float) -> tuple[FloatArray, FloatArray]:
    """Add the mass beyond the last displacement of the first axis to that displacement."""
    *_, last, beyond = range(len(factor))
    sides = 2 if last == 0 else 1  # an axis of one cell takes both ends
    lumped = factor[:-1].copy()
    lumped[last] += sides * factor[beyond] * np.exp(-kappa * (nearest[beyond] - nearest[last]))
    return lumped, nearest[:-1]


def _integers(factor: FloatArray, nearest: FloatArray, kappa: float) -> tuple[tuple[int, ...], NDArray[np.int32]]:
    """Return ``factor * e^(-kappa nearest)`` as integers, up to a common power of two, without losing a bit.

    Returns the distinct integers in order, and the index of the integer at each entry. While they are sorted, integers
    are 53 leading bits and a shift: sorting a million long ones takes seconds.
    """
    exponent = nearest * (-kappa / math.log(2))
    whole = np.floor(exponent)
    mantissa, shift = np.frexp(factor * np.exp2(exponent - whole))
    shift = (shift + whole.astype(np.int64)).ravel()
    shift -= shift.min()
    leading = np.ldexp(mantissa, 53).astype(np.int64).ravel()
    order = np.lexsort((leading, shift))
    leading, shift = leading[order], shift[order]
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(leading) != 0) | (np.diff(shift) != 0)
    codes = np.empty(len(order), np.int32)
    codes[order] = np.cumsum(first) - 1
    palette = (bits << by for bits, by in zip(leading[first].tolist(), shift[first].tolist(), strict=True))
    return tuple(palette), codes.reshape(factor.shape)
