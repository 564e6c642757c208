"""Noise on a map: one exact law of displacements, shared by all cells.

A mechanism on a 300 x 300 map has 8 billion probabilities but only 90,000 different displacements up to reflection.
:class:`Lattice` stores the integer weight of each displacement and the rule at the border, and derives all answers from
them: single probabilities, products with vectors (by Fourier transform), and exact samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput, InWords, UnreadableFile, Unsupported, arg
from .arrays import Array, FloatArray, IntArray
from .base import Ends, Kernel
from .bits import Bits
from .sampling import AliasSampler
from .tables import Table

Border = Literal["remap", "normalise"]

#: Maximum number of cells for an exact table of all pairs.
MAX_TABLE_CELLS = 2500

#: Maximum number of cells for a float matrix of all pairs (half a gigabyte).
MAX_MATRIX_CELLS = 8192

#: Probability of far displacements, in total, below which Fourier transforms cannot resolve them.
UNRESOLVED_MASS = 2.0**-58

#: Least number of points of a field that is transformed with several threads, and their number.
MIN_THREADED_POINTS, THREADS = 1 << 18, 2

#: Maximum number of cells for products with the matrix: they are then faster than Fourier transforms (measured), and
#: more precise.
MAX_DENSE_CELLS = 1000


@dataclass(frozen=True, eq=False)
class Lattice(Kernel):
    """Exact probabilities of reporting one cell of a grid for another, from weights of displacements.

    ``w[a, b]`` is the integer weight of moving by (+-a rows, +-b columns): the law is the same in all four quadrants.
    At the border, either

    - ``"remap"``: the report is the cell of the grid nearest to (true cell + displacement), each coordinate clamped.
      Weights in the last row and column stand for *that or any longer* displacement, which clamps to the same cell. ::

          P(y | x) = sum of w over the displacements that clamp to y / sum of all w

    - ``"normalise"``: displacements that leave the grid are excluded, so the total depends on the true cell x. ::

          P(y | x) = w[|y - x|] / S(x),    S(x) = sum over cells y of w[|y - x|]

    ``normalise`` is the form of Alvim, Chatzikokolakis, Palamidessi and Pazii, *LDP on metric spaces*, section IV.

    Build one with :meth:`from_weights`.
    """

    palette: tuple[int, ...]
    codes: NDArray[np.int32]
    border: Border
    name: ClassVar[str] = "lattice"
    stays_near: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.border not in get_args(Border):
            raise InvalidInput.must_be("border", "'remap' or 'normalise'", self.border)
        if self.codes.ndim != 2 or self.codes.size < 2:
            raise InvalidInput("a lattice needs weights for a grid of at least two cells.", argument="weights")
        if not 0 <= int(self.codes.min()) <= int(self.codes.max()) < len(self.palette):
            raise InvalidInput(
                f"every code must be the number of one of the {len(self.palette)} weights.", argument="codes"
            )
        if min(self.palette) < 0:
            raise InvalidInput.must_be("weights", "0 or more", InWords(min(self.palette)))
        if self.total == 0 or (self.border == "normalise" and not self.palette[self.codes[0, 0]]):
            raise InvalidInput(
                "the weights are all zero, or the weight of staying in place is zero: not a distribution.",
                argument="weights",
            )
        codes = self.codes.copy()  # not the caller's memory
        codes.flags.writeable = False
        object.__setattr__(self, "codes", codes)

    @classmethod
    def from_weights(cls, weights: Sequence[Sequence[int]] | Array, border: Border) -> Lattice:
        """Return a lattice from integer weights, one row for each row displacement 0, 1, ..., rows - 1."""
        rows = [[int(w) for w in row] for row in weights]
        if len({len(row) for row in rows}) != 1:
            raise InvalidInput(
                "every row of weights needs the same length, one weight for each column displacement.",
                argument="weights",
            )
        palette = sorted({w for row in rows for w in row})
        number = {w: k for k, w in enumerate(palette)}
        return cls(tuple(palette), np.array([[number[w] for w in row] for row in rows], np.int32), border)

    # -------------------------------------------------------------------------------------------- the law

    @property
    def rows(self) -> int:
        return len(self.codes)

    @property
    def cols(self) -> int:
        return len(self.codes[0])

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.codes.size

    @property
    def shape(self) -> tuple[int, int]:
        """The number of true and of reported cells."""
        return self.size, self.size

    @cached_property
    def weights(self) -> NDArray[np.object_]:
        """The integer weights ``w[a, b]`` as an array of Python integers."""
        weights = np.array(self.palette, dtype=object)[self.codes]
        weights.flags.writeable = False
        return weights

    @cached_property
    def total(self) -> int:
        """The sum of the weights of all displacements, in all four quadrants."""
        twice = [np.where(np.arange(n) == 0, 1, 2) for n in self.codes.shape]
        times = np.bincount(self.codes.ravel(), np.outer(*twice).ravel(), minlength=len(self.palette))
        return sum(w * int(t) for w, t in zip(self.palette, times.tolist(), strict=True))

    @cached_property
    def _totals(self) -> NDArray[np.object_]:
        """S(x) for every cell x of the grid, exactly (``normalise``): sums over rectangles, by running sums."""
        sums = self.weights
        for axis in (0, 1):
            running = np.cumsum(sums, axis=axis)
            # displacements 0..x to one side, 0..n-1-x to the other, and 0 only once
            sums = running + np.flip(running, axis) - np.take(sums, [0], axis)
        return sums

    def probability(self, i: int, j: int) -> Fraction:
        """Return P(report j | truth i), exactly."""
        (row, col), (to_row, to_col) = divmod(i, self.cols), divmod(j, self.cols)
        if self.border == "normalise":
            weight = self.palette[self.codes[abs(row - to_row), abs(col - to_col)]]
            return Fraction(weight, self._totals[row, col])
        part = self.weights[_clamping(self.rows, row, to_row), _clamping(self.cols, col, to_col)]
        return Fraction(sum(part.ravel().tolist()), self.total)

    def _events(self) -> tuple[NDArray[np.object_], IntArray, IntArray]:
        """Return the distinct weights of reports, and their index for each pair (true, reported) on each axis."""
        remap = self.border == "remap"
        law = _with_tails(_with_tails(self.weights).T).T if remap else self.weights
        return law, _event_numbers(self.rows, remap), _event_numbers(self.cols, remap)

    def table(self) -> Table:
        """Return the exact table of all pairs of cells."""
        self._refuse_above(MAX_TABLE_CELLS, "the exact table of all pairs of cells")
        law, by_row, by_col = self._events()
        palette = sorted(set(law.ravel().tolist()))
        number = {w: k for k, w in enumerate(palette)}
        codes = np.array([[number[w] for w in row] for row in law.tolist()], np.int32)
        entries = codes[by_row[:, None, :, None], by_col[None, :, None, :]]
        return Table.from_codes(palette, entries.reshape(self.shape))

    def matrix(self) -> FloatArray:
        """Return the probabilities as doubles, each correct to within a few units in the last place."""
        self._refuse_above(MAX_MATRIX_CELLS, "the matrix of all pairs of cells")
        law, by_row, by_col = self._events()
        values = _quotients(law, self.total)[by_row[:, None, :, None], by_col[None, :, None, :]].reshape(self.shape)
        if self.border == "normalise":
            values /= self._shares[:, None]
        return values

    def block(self, truths: IntArray, reports: IntArray) -> FloatArray:
        """Return P(report | truth) as doubles for these cells only: a row for each truth, a column for each report."""
        if self.size <= MAX_DENSE_CELLS:
            rows = self._dense if len(truths) == self.size else self._dense.take(truths, 0)
            return rows if len(reports) == self.size else rows.take(reports, 1)
        law, by_row, by_col = self._float_events
        to_row, to_col = np.divmod(reports, self.cols)
        values = np.empty((len(truths), len(reports)))
        for line, truth in zip(values, truths.tolist(), strict=True):
            row, col = divmod(truth, self.cols)
            line[:] = law[by_row[row][to_row], by_col[col][to_col]]
        return values if self.border == "remap" else values / self._shares[truths][:, None]

    @cached_property
    def _float_events(self) -> tuple[FloatArray, IntArray, IntArray]:
        law, by_row, by_col = self._events()
        return _quotients(law, self.total), by_row, by_col

    def _refuse_above(self, limit: int, what: str) -> None:
        if self.size > limit:
            raise Unsupported(
                f"{what} is written out for up to {limit} cells; this grid has {self.size}.",
                "Use probability(x, y), forward(p) and backward(v), which need no matrix.",
            )

    # -------------------------------------------------------------------------------------------- products

    @cached_property
    def _dense(self) -> FloatArray:
        return self.matrix()

    @cached_property
    def _shares(self) -> FloatArray:
        """S(x) / total for every cell (``normalise``)."""
        return _quotients(self._totals, self.total).ravel()

    @cached_property
    def _convolution(self) -> _Convolution:
        return _Convolution(np.array([w / self.total for w in self.palette])[self.codes], self.border == "remap")

    @cached_property
    def _least_share(self) -> float:
        return min(self.palette) / self.total

    def forward(self, distribution: FloatArray) -> FloatArray:
        """Return the distribution of reports when truths have this one: ``p @ matrix()``, without the matrix.

        With Fourier transforms (above 1000 cells) the error is about 1e-16 times the largest entry, not relative to
        each entry; for p >= 0, entries are at least the smallest probability times the sum of p, so they stay positive.
        """
        p = np.asarray(distribution, np.float64)
        if self.size <= MAX_DENSE_CELLS:
            return np.asarray(p @ self._dense)
        images = (p if self.border == "remap" else p / self._shares).reshape(*p.shape[:-1], *self.codes.shape)
        spread = self._convolution(images)
        if self.border == "remap":
            for axis, n, reach in zip((-2, -1), self.codes.shape, self._convolution.reach, strict=True):
                spread = _clamped(spread, axis, n, reach)
        return self._at_least(spread[..., : self.rows, : self.cols].reshape(p.shape), p)

    def backward(self, values: FloatArray) -> FloatArray:
        """Return, for each truth, the expectation of these values of the reports: ``matrix() @ v``, without the matrix.

        The error is as in :meth:`forward`.
        """
        v = np.asarray(values, np.float64)
        if self.size <= MAX_DENSE_CELLS:
            return np.asarray(v @ self._dense.T)
        images = v.reshape(*v.shape[:-1], *self.codes.shape)
        rows, cols = self.rows, self.cols
        if self.border == "normalise":
            means = self._convolution(images)[..., :rows, :cols].reshape(v.shape) / self._shares
        else:
            top, left = self._convolution.reach
            outside = [(0, 0)] * (v.ndim - 1) + [(top, top), (left, left)]
            spread = self._convolution.apply(np.pad(images, outside, mode="edge"))
            means = spread[..., top : top + rows, left : left + cols].reshape(v.shape)
        return self._at_least(means, v)

    def _at_least(self, result: FloatArray, vector: FloatArray) -> FloatArray:
        if vector.size and vector.min() >= 0:
            np.maximum(result, self._least_share * vector.sum(-1, keepdims=True), out=result)
        return result

    # -------------------------------------------------------------------------------------------- samples

    def reports_fill(self, size: int | None, ends: Ends | None) -> bool:
        return self.size == size

    def sampler(self) -> LatticeSampler | AliasSampler:
        """Return the sampler that draws reports from exactly this law."""
        if self.border == "remap":
            return LatticeSampler(self)
        if self.size > MAX_TABLE_CELLS:
            raise Unsupported(
                f"{arg('border', 'normalise')} is sampled for up to {MAX_TABLE_CELLS} cells; this grid has "
                f"{self.size}. Use "
                f"{arg('border', 'remap')}, which is sampled on any grid (drawing again until the report falls "
                "inside would "
                "give the place away by the time it takes)."
            )
        return AliasSampler(self.table())

    # -------------------------------------------------------------------------------------------- files

    def to_json(self) -> dict[str, Any]:
        """Return the exact parameters as plain JSON values; :meth:`from_json` reads them back."""
        return {
            "kernel": self.name,
            "border": self.border,
            "weights": [hex(w) for w in self.palette],
            "codes": self.codes.tolist(),
        }

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> Lattice:
        """Return the lattice with these parameters."""
        try:
            palette = tuple(int(w, 16) for w in description["weights"])
            return cls(palette, np.array(description["codes"], np.int32), description["border"])
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise UnreadableFile(
                f"this does not describe a lattice: {problem}.", "Save it again with to_json()."
            ) from None


class LatticeSampler:
    """The sampler of a lattice: a displacement with the same law for every cell, clamped, in the same time for all."""

    def __init__(self, lattice: Lattice) -> None:
        self._rows, self._cols = lattice.rows, lattice.cols
        law = _mirrored(lattice.codes).reshape(1, -1)
        self._alias = AliasSampler(Table.from_codes(lattice.palette, law))

    def draw(self, truths: Array, bits: Bits) -> IntArray:
        """Return one report for each true cell."""
        truths = np.asarray(truths, np.int64)
        moves = self._alias.draw(np.zeros(len(truths), np.int64), bits).astype(np.int64)
        down, right = np.divmod(moves, 2 * self._cols - 1)
        rows, cols = np.divmod(truths, self._cols)
        rows += down - (self._rows - 1)
        cols += right - (self._cols - 1)
        return np.asarray(np.clip(rows, 0, self._rows - 1) * self._cols + np.clip(cols, 0, self._cols - 1))

    def draw_one(self, truth: int, bits: Bits) -> int:
        """Return one report."""
        down, right = divmod(int(self._alias.draw_one(0, bits)), 2 * self._cols - 1)
        row, col = divmod(truth, self._cols)
        row = min(max(row + down - (self._rows - 1), 0), self._rows - 1)
        col = min(max(col + right - (self._cols - 1), 0), self._cols - 1)
        return row * self._cols + col


# ------------------------------------------------------------------------------------------------ clamping


def _clamping(n: int, x: int, y: int) -> slice:
    """Return the sizes of the displacements from x that clamp to y, on an axis of n cells."""
    if n > 1 and y in (0, n - 1):
        return slice(abs(y - x), n)
    return slice(abs(y - x), abs(y - x) + 1)


def _clamped(field: FloatArray, axis: int, n: int, reach: int) -> FloatArray:
    """Return the n lines of a field from ``reach`` on, with all before and after them added to the ends."""
    lines = np.moveaxis(field, axis, 0)  # a view: additions to it change the field
    lines[reach] += lines[:reach].sum(0)
    lines[reach + n - 1] += lines[reach + n : n + 2 * reach].sum(0)
    return np.moveaxis(lines[reach : reach + n], 0, axis)


def _with_tails(weights: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return the weights of displacements 0..n-2, then those of "at least k" for k = 0..n-1, along the first axis."""
    if len(weights) == 1:
        return weights
    return np.concatenate([weights[:-1], np.cumsum(weights[::-1], axis=0)[::-1]])


def _event_numbers(n: int, remap: bool) -> IntArray:
    """Return the distance, or the index in :func:`_with_tails`, for each pair (true, reported) on an axis."""
    gap = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    if remap and n > 1:
        gap[:, [0, -1]] += n - 1
    return np.asarray(gap)


# ------------------------------------------------------------------------------------------------ floats


def _mirrored(quadrant: Array) -> Array:
    """Return all displacements -(n-1)..n-1 on both axes, from the non-negative ones."""
    rows, cols = (np.abs(np.arange(1 - n, n)) for n in quadrant.shape)
    return np.asarray(quadrant[np.ix_(rows, cols)])


def _quotients(numerators: NDArray[np.object_], denominator: int) -> FloatArray:
    return np.array([[w / denominator for w in row] for row in numerators.tolist()])


class _Convolution:
    """Convolution of images with a law of displacements that is symmetric in both axes, by Fourier transform.

    With ``outside`` the images are moved to the middle of a field that is wider by the law's reach on every side, so
    that every displacement ends on it; without, displacements off the image are lost. Displacements beyond the reach,
    in total less likely than a transform resolves, are counted at the reach.
    """

    def __init__(self, quadrant: FloatArray, outside: bool) -> None:
        from scipy.fft import next_fast_len, rfft2

        rows, cols = quadrant.shape
        self.reach = down, right = _reach(quadrant), _reach(quadrant.T)
        quadrant = _cut(_cut(quadrant, down).T, right).T
        sides = 2 if outside else 1
        self._offset = self.reach if outside else (0, 0)
        self._size = tuple(
            next_fast_len(n + sides * reach, real=True) for n, reach in zip((rows, cols), self.reach, strict=True)
        )
        window = np.zeros(self._size)
        window[np.ix_(np.arange(-down, down + 1), np.arange(-right, right + 1))] = _mirrored(quadrant)
        self._threads = THREADS if window.size >= MIN_THREADED_POINTS else 1
        # The transform of a symmetric law is real.
        self._spectrum = np.ascontiguousarray(rfft2(window, workers=self._threads).real)

    def apply(self, field: FloatArray) -> FloatArray:
        """Return a whole field convolved with the law, around the edges."""
        from scipy.fft import irfft2, rfft2

        transform = rfft2(field, self._size, workers=self._threads)
        transform *= self._spectrum
        return np.asarray(irfft2(transform, self._size, workers=self._threads, overwrite_x=True))

    def __call__(self, images: FloatArray) -> FloatArray:
        """Place images on the field, and convolve them."""
        rows, cols = images.shape[-2:]
        top, left = self._offset
        field = np.zeros((*images.shape[:-2], *self._size))
        field[..., top : top + rows, left : left + cols] = images
        return self.apply(field)


def _reach(quadrant: FloatArray) -> int:
    """Return the longest displacement along the first axis that must be distinguished from longer ones."""
    mass = quadrant.sum(1)
    beyond = np.cumsum(mass[::-1])[::-1]
    indices = np.flatnonzero(beyond > UNRESOLVED_MASS * beyond[0])
    return int(indices[-1])


def _cut(quadrant: FloatArray, reach: int) -> FloatArray:
    """Return the law with all displacements beyond the reach along the first axis counted at the reach."""
    return np.concatenate([quadrant[:reach], quadrant[reach:].sum(0, keepdims=True)])
