"""Sums of privacy losses on a grid: how dominating pairs are composed, with every error on the safe side.

The privacy loss of a product of pairs is the sum of their losses, and

    delta(eps) = E (1 - e^(eps - L))+ + P(L = infinity),    L distributed as under P.

It can only grow when mass is added, and when a loss is replaced by a larger one. Three steps use that:

**Grid.** A loss x between two points a < b = a + h of the grid is split between them so that its mass and its mean of
e^-L stay the same. The curve of the pair then becomes its chords between grid points, which are above it. Splitting
adds a random error to each loss, within h of zero and of mean at most h^2/8 (Hoeffding's lemma); the errors of k
releases largely cancel, unlike with rounding up. The grid is laid so that the most important loss is on it: composing
randomized response costs nothing here. Powers start on a finer grid, whose step is doubled, by splitting again, as
the sums spread out.

**Up.** A loss x that is just below a grid point x + s is moved there, and s times the mass of its twin at -x is added
at loss 0. This is a symmetric pair again, of a larger curve: the twin of the moved atom has e^-s of its former mass,
and the rest, less than s times it, may have any loss from -x up.

**Convolution.** By direct summation, not by a Fourier transform: all terms are positive, so the relative error of each
mass is below the number of terms times 2^-52, however small the mass; the result is multiplied by that much. Powers
are taken by repeated squaring. What is far out is cut off: above, it counts as infinite loss; below, it is moved up.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import NamedTuple

import numpy as np

from ..exact.arrays import FloatArray
from ..exact.rationals import float_down
from .dominating_pairs import Pair

#: Largest mass that is cut off on either side of every partial sum.
_CUT = 2.0**-84

#: Probability that the errors of splitting add up to more than the bound; it is added to delta.
_UNLUCKY = 2.0**-60

#: Length of the pieces of a convolution, which stay in the processor's cache.
_BLOCK = 8192

#: Least and largest number of points of the grid, and points per square root of the number of distinct releases.
_MIN_POINTS, _MAX_POINTS, _POINTS_PER_ROOT = 8192, 1 << 17, 1500

#: Largest step of the grid on which a power starts, in standard deviations of the loss of one release.
_INITIAL_STEP = 0.006

#: Number of points from which the step of that grid is doubled.
_COARSEN_POINTS = 16384

#: Largest relative distance below a point of the grid of a loss that is moved up to it.
_NEAR = 2.0**-30


class Slack(NamedTuple):
    """The largest excess of a bound over the number it bounds.

    With (epsilon, delta, relative) the bound at eps is at least the delta at eps of the dominating pairs that are
    composed, and at most ``(1 + relative)`` times their delta at ``eps - epsilon``, plus ``delta``. (The rounding of
    eps itself, of less than 2^-49 (1 + eps), comes on top.)
    """

    epsilon: float = 0.0
    delta: float = 0.0
    relative: float = 0.0


NO_SLACK = Slack()


@dataclass(frozen=True, eq=False)
class LossSum:
    """The privacy loss of a composition: masses at ``(start + k) step``, and the mass of an infinite loss.

    The other fields keep account of what was added on the way: ``relative`` by rounding, ``cut`` by cutting off and
    moving up; ``widths`` and ``squares`` are the sums of the widths of the ranges over which losses were split, and of
    their squares; ``shift`` is how far losses were moved up.
    """

    step: float
    start: int
    masses: FloatArray
    infinite: float
    relative: float = 0.0
    cut: float = 0.0
    widths: float = 0.0
    squares: float = 0.0
    shift: float = 0.0

    @property
    def slack(self) -> Slack:
        """The bound of all errors, for splitting except with a small probability (Azuma and Hoeffding's inequality)."""
        likely = self.squares / 8 + math.sqrt(self.squares * -math.log(_UNLUCKY) / 2)
        epsilon = (min(likely, self.widths) + self.shift) * (1 + 2.0**-40)
        relative = self.relative + (self.masses.size + 128) * 2.0**-51  # and the sum in delta_at
        return Slack(epsilon, self.cut + (_UNLUCKY if self.widths else 0.0), relative)

    def __add__(self, other: LossSum) -> LossSum:
        """Return the sum of two independent losses on the same grid."""
        assert self.step == other.step
        masses = _convolve(self.masses, other.masses)
        rounding = (min(self.masses.size, other.masses.size) + 64) * 2.0**-52
        infinite = self.infinite + other.infinite * max(0.0, 1 - self.infinite)
        return replace(
            self,
            start=self.start + other.start,
            masses=masses * (1 + rounding),
            # products below the smallest double are lost: there are fewer than 2^60 of them
            infinite=min(infinite * (1 + 2.0**-50) + 2.0**-1000, 1.0),
            relative=math.expm1(math.log1p(self.relative) + math.log1p(other.relative) + 2 * rounding),
            cut=self.cut + other.cut,
            widths=self.widths + other.widths,
            squares=self.squares + other.squares,
            shift=self.shift + other.shift,
        )._trimmed()

    def times(self, number: int, step: float) -> LossSum:
        """Return the sum of this many independent losses of this kind, by repeated squaring, on a grid with this step.

        The step is that of the grid times a power of two.
        """
        one = total = self
        for bit in bin(number)[3:]:
            if total.masses.size > _COARSEN_POINTS and total.step < step:
                total = total._coarser()
            total = total + total
            if bit == "1":
                one = one.on(total.step)
                total = total + one
        return total.on(step)

    def on(self, step: float) -> LossSum:
        """Return the same loss on a coarser grid."""
        total = self
        while total.step < step:
            total = total._coarser()
        return total

    def _coarser(self) -> LossSum:
        """Return the same loss on a grid with twice the step: every other point is split between its neighbours."""
        odd = self.start % 2
        masses = np.concatenate([np.zeros(odd), self.masses, np.zeros((odd + self.masses.size) % 2)])
        stay, split = masses[0::2], masses[1::2]
        down, up = 1 / (1 + math.exp(self.step)), 1 / (1 + math.exp(-self.step))
        both = np.append(stay + split * down, 0.0)
        both[1:] += split * up
        return replace(
            self,
            step=2 * self.step,
            start=(self.start - odd) // 2,
            masses=both * (1 + 2.0**-48),
            relative=self.relative + 2.0**-46,
            widths=self.widths + 2 * self.step,
            squares=self.squares + 4 * self.step**2,
        )._trimmed()

    def _trimmed(self) -> LossSum:
        above, below = np.cumsum(self.masses[::-1]), np.cumsum(self.masses)
        top, bottom = int(np.searchsorted(above, _CUT)), int(np.searchsorted(below, _CUT))
        if top + bottom == 0 or top + bottom >= self.masses.size:
            return self
        rounding = 1 + self.masses.size * 2.0**-52
        lost = float(above[top - 1]) * rounding if top else 0.0
        low_mass = float(below[bottom - 1]) * rounding if bottom else 0.0
        masses = self.masses[bottom : self.masses.size - top].copy()
        masses[0] += low_mass
        infinite, cut = self.infinite + lost * (1 + 2.0**-50), self.cut + (lost + low_mass) * (1 + 2.0**-50)
        return replace(self, start=self.start + bottom, masses=masses, infinite=min(infinite, 1.0), cut=cut)

    def delta_at(self, epsilon: Fraction) -> float:
        """Return an upper bound of delta: the sum of ``mass (1 - e^(epsilon - loss))+``, and the infinite mass."""
        eps = float_down(epsilon)
        furthest = max(-self.start, self.start + self.masses.size)
        if self.step.as_integer_ratio()[0].bit_length() + furthest.bit_length() > 53:
            eps -= (abs(eps) + 2) * 2.0**-50  # more than the rounding of the losses that are near it
        if eps >= (self.start + self.masses.size) * self.step:
            return self.infinite
        first = max(0, math.ceil(eps / self.step) - self.start - 1)
        masses = self.masses[first:]
        losses = np.arange(self.start + first, self.start + self.masses.size) * self.step
        finite = float(np.sum(masses * -np.expm1(np.minimum(eps - losses, 0.0))))
        total = finite * (1 + (masses.size + 64) * 2.0**-52) + self.infinite
        return min(total * (1 + 2.0**-50), 1.0)


def _convolve(a: FloatArray, b: FloatArray) -> FloatArray:
    if a.size < b.size:
        a, b = b, a
    if b.size <= _BLOCK:
        return np.convolve(a, b)
    total = np.zeros(a.size + b.size - 1)
    for start in range(0, b.size, _BLOCK):
        block = b[start : start + _BLOCK]
        total[start : start + a.size + block.size - 1] += np.convolve(a, block)
    return total


# ------------------------------------------------------------------------------------------------ laying the grid


def sum_of_losses(pairs: Sequence[tuple[Pair, int]]) -> LossSum:
    """Return the privacy loss of a plan of pairs and the number of times each occurs.

    Examples
    --------
    >>> from discreet.privacy.dominating_pairs import pair_of_guarantee
    >>> total = sum_of_losses([(pair_of_guarantee(Fraction(1), Fraction(0)), 2)])
    >>> round(total.delta_at(Fraction(1)), 9)   # (e^2 - e) / (1 + e)^2
    0.337834712
    """
    pairs = [(_without_rare(pair, number), number) for pair, number in pairs]
    step = _choose_step(pairs)
    order = count()
    heap: list[tuple[int, int, LossSum]] = []
    for pair, number in pairs:
        power = _on_grid(pair, step)
        if number > 1 and power.widths:
            power = _on_grid(pair, _finer(pair, step))
        power = power.times(number, step)
        heapq.heappush(heap, (power.masses.size, next(order), power))
    while len(heap) > 1:
        merged = heapq.heappop(heap)[2] + heapq.heappop(heap)[2]
        heapq.heappush(heap, (merged.masses.size, next(order), merged))
    total = heap[0][2]
    return replace(total, cut=total.cut + 2 * len(pairs) * _CUT)  # the rare losses


def _without_rare(pair: Pair, number: int) -> Pair:
    """Return a pair whose largest losses, of hardly any mass, count as infinite: they would stretch the grid."""
    above = np.cumsum(pair.masses[::-1])
    rare = int(np.searchsorted(above, _CUT / number))
    if not rare:
        return pair
    keep = slice(0, pair.masses.size - rare)
    lost = float(above[rare - 1]) * (1 + pair.masses.size * 2.0**-52)
    centre = pair.centre + float(pair.mirrored[keep.stop :].sum()) * (1 + 2.0**-40)  # their twins may have any loss
    infinite = min((pair.infinite + lost) * (1 + 2.0**-50), 1.0)
    return Pair(pair.losses[keep], pair.masses[keep], pair.mirrored[keep], centre, infinite, pair.gap)


def _choose_step(pairs: Sequence[tuple[Pair, int]]) -> float:
    """Return a step with few enough digits that points of the grid are exact doubles. Nothing else must be exact."""
    random = [(pair, number) for pair, number in pairs if pair.losses.size]
    if not random:
        return 1.0
    points = min(max(_MIN_POINTS, int(_POINTS_PER_ROOT * math.sqrt(len(random)))), _MAX_POINTS)
    step = _width(random) / points
    # the loss that contributes most to the variance of the sum comes to lie on the grid
    weights = [number * pair.masses * pair.losses**2 for pair, number in random]
    largest = max(range(len(random)), key=lambda k: float(weights[k].max()))
    loss = float(random[largest][0].losses[int(weights[largest].argmax())])
    step = loss / math.ceil(loss / step) if loss > step else loss * 2.0 ** math.floor(math.log2(step / loss))
    points = max(_COARSEN_POINTS, *(int(pair.losses.max() / step) for pair, _ in random)) + 2
    digits = 52 - points.bit_length()
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.ceil(math.ldexp(mantissa, digits)), exponent - digits)


def _width(pairs: Sequence[tuple[Pair, int]]) -> float:
    """Return the approximate width of the sum of the losses, except for a mass of 2^-80 on either side (Chernoff)."""
    losses = np.concatenate([part for pair, _ in pairs for part in (-pair.losses, [0.0], pair.losses)])
    masses = np.concatenate([part for pair, _ in pairs for part in (pair.mirrored, [pair.centre], pair.masses)])
    sizes = np.array([2 * pair.losses.size + 1 for pair, _ in pairs])
    starts = np.cumsum(sizes) - sizes
    numbers = np.array([float(number) for _, number in pairs])
    reach = np.array([pair.losses.max() for pair, _ in pairs])
    widest = float(numbers @ reach)
    means = np.add.reduceat(masses * losses, starts)
    variance = float(numbers @ (np.add.reduceat(masses * losses**2, starts) - means**2))
    if not variance > 0:
        return 2 * widest
    far = []
    for sign in (1.0, -1.0):
        best = widest
        for theta in np.geomspace(0.05, 500, 40) / math.sqrt(variance):
            moments = np.add.reduceat(masses * np.exp(sign * theta * losses - np.repeat(theta * reach, sizes)), starts)
            logs = np.log(np.maximum(moments, 5e-324)) + theta * reach
            best = min(best, (float(numbers @ logs) + 80 * math.log(2)) / theta)
        far.append(best)
    return max(sum(far), math.sqrt(variance))


def _finer(pair: Pair, step: float) -> float:
    """Return the step, halved until it is fine enough for the losses of this pair, within the number of points."""
    mean = float(np.sum((pair.masses - pair.mirrored) * pair.losses))
    square = float(np.sum((pair.masses + pair.mirrored) * pair.losses**2))
    fine = max(_INITIAL_STEP * math.sqrt(max(square - mean**2, 0.0)), 2 * float(pair.losses.max()) / _COARSEN_POINTS)
    return step * 2.0 ** min(0, math.floor(math.log2(fine / step)))


def _on_grid(pair: Pair, step: float) -> LossSum:
    """Return the loss of a pair on the grid."""
    losses, centre = pair.losses, pair.centre
    above = np.ceil(losses / step) * step - losses
    near = (above > 0) & (above <= losses * _NEAR)
    losses = np.where(near, losses + above, losses)
    shift_mass = float(np.sum(pair.mirrored[near] * above[near])) * (1 + 2.0**-40)
    if near.any():
        centre = (centre + shift_mass) * (1 + 2.0**-50)
    points, masses, exact = _split(
        np.concatenate([-losses, [0.0], losses]), np.concatenate([pair.mirrored, [centre], pair.masses]), step
    )
    start = int(points.min())
    grid: FloatArray = np.bincount(points - start, masses).astype(float) * (1 + (masses.size + 64) * 2.0**-52)
    return LossSum(
        step,
        start,
        grid,
        pair.infinite,
        relative=(2 * masses.size + 512) * 2.0**-52,
        cut=shift_mass + float(pair.mirrored @ pair.losses) * 2.0**-49,
        widths=pair.gap + (0.0 if exact else step),
        squares=(pair.gap + (0.0 if exact else step)) ** 2,
        shift=float(above[near].max(initial=0.0)),
    )._trimmed()


def _split(losses: FloatArray, masses: FloatArray, step: float) -> tuple[np.ndarray, FloatArray, bool]:
    """Return the masses split between the points of the grid around their losses, keeping the mean of e^-loss."""
    point = np.floor(losses / step)
    point += (losses - point * step >= step).astype(float) - (losses - point * step < 0)
    over = losses - point * step
    up = masses * (np.expm1(-over) / np.expm1(-step)) * (1 + 2.0**-46)
    down = masses * (np.expm1(step - over) / np.expm1(step)) * (1 + 2.0**-46)
    inside = over > 0
    points = np.concatenate([point, point[inside] + 1]).astype(np.int64)
    return points, np.concatenate([down, up[inside]]), not bool(inside.any())
