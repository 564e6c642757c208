"""The noise of every cell of one table: the mechanism, the clamps, the draw.

A cell's true count is first moved into the range of its mechanism. This is part of the mechanism: it depends on this
cell alone, and neighbouring counts stay neighbours. Then the mechanism reports, and the report is moved into the range
of the output (post-processing). Noise that is the same for every count needs one unbounded mechanism for groups of all
sizes: clamping its reports to 0..n gives exactly the truncated mechanism on 0..n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InvalidInput, InWords, Unsupported, WrongType, arg, named
from ...exact.arrays import FloatArray, IntArray
from ...exact.bits import Bits
from ...exact.integers import is_integer
from ...exact.laws import Law
from ...exact.rationals import as_fraction
from ...exact.sampling import DRAWS_PER_CHUNK, Sampler
from ...exact.tables import refuse_large
from ...files import rebuild
from ...mechanism import Mechanism
from ...mechanisms.families import Family, resolve
from ...optimise.families import FAMILIES
from ...report import Json
from ...spaces import LARGEST_INTEGER, Counts
from .accuracy import (
    NO_END,
    UNCLAMPED_HIGH,
    UNCLAMPED_LOW,
    Accuracy,
    Behaviour,
    Expected,
    read_level,
)

#: Ranges of reports: any integer, none below zero, or from zero to the largest count.
OUTPUTS = ("signed", "clamped", "in-range")

#: Range of reports -> its description.
OUTPUT_IN_WORDS = {
    "signed": "counts may be negative and are unbiased",
    "clamped": "counts below 0 are raised to 0",
    "in-range": "counts stay between 0 and the largest count",
}

#: A function of the largest count and the epsilon of a cell that makes the mechanism for groups of that size.
TableFamily = Callable[[int, Fraction], Mechanism]

#: Largest number of different group sizes for which a table each is built and verified.
MAX_TABLE_SIZES = 200


@dataclass(frozen=True, eq=False, repr=False)
class CellNoise:
    """The noise of every cell of one table. Made by :func:`cell_noise`.

    Attributes
    ----------
    mechanisms
        One mechanism, or one for each size of a group where the family is a table.
    which
        The index of each cell's mechanism, -1 for a cell that can only be 0; None if all cells have the first.
    output
        "signed": any integer, unbiased. "clamped": none below zero. "in-range": from zero to ``high``.
    low
        The lower clamp of reports: 0, or None if they are signed.
    high
        The largest true count (one, or one for each cell): larger counts are treated as this one. Reports are clamped
        to it if the output is in range. None without a bound.
    known
        True if ``high`` is a public size that no true count exceeds, False if it is a chosen bound.
    """

    mechanisms: tuple[Mechanism, ...]
    which: IntArray | None = None
    output: str = "signed"
    low: int | None = None
    high: int | IntArray | None = None
    known: bool = False

    def __post_init__(self) -> None:
        if self.output not in OUTPUTS:
            raise InvalidInput.must_be("counts", f"one of {', '.join(OUTPUTS)}", self.output)
        if self.output == "in-range" and self.high is None:
            raise InvalidInput(
                f"{arg('counts', 'in-range')} needs a largest count.", f"Give {arg('bound')} or {arg('sizes')}"
            )
        for name in ("which", "high"):
            array = getattr(self, name)
            if isinstance(array, np.ndarray):
                copy = np.array(array, np.int64).reshape(-1)
                copy.flags.writeable = False
                object.__setattr__(self, name, copy)
        self._refuse_misfits()

    def _refuse_misfits(self) -> None:
        """Refuse fields that do not fit together, as in a damaged description."""
        high, which = self.high, self.which
        fits = bool(self.mechanisms) and self.low == (None if self.output == "signed" else 0)
        if high is None:
            fits = fits and not self.known and which is None
        else:
            fits = fits and bool(np.all(np.asarray(high) >= 0) and np.all(np.asarray(high) <= LARGEST_INTEGER))
        if fits and which is not None:
            fits = isinstance(high, np.ndarray) and high.shape == which.shape
            fits = fits and bool(np.all((which < len(self.mechanisms)) & (which >= np.where(high == 0, -1, 0))))
        if not fits:
            raise InvalidInput(
                "the mechanisms, the ranges and the output of these cells do not belong together.",
                argument="mechanisms",
            )

    @cached_property
    def behaviours(self) -> tuple[Behaviour, ...]:
        """The behaviour of each mechanism."""
        return tuple(Behaviour.of(mechanism) for mechanism in self.mechanisms)

    @cached_property
    def _samplers(self) -> tuple[Sampler, ...]:
        return tuple(mechanism.kernel.sampler() for mechanism in self.mechanisms)

    @property
    def size(self) -> int | None:
        """Number of cells; None if the noise suits any number."""
        arrays = [array for array in (self.which, self.high) if isinstance(array, np.ndarray)]
        return len(arrays[0]) if arrays else None

    @property
    def shift_law(self) -> Law | None:
        """The law of the noise if it is the same for every cell and every count, else None."""
        behaviour = self.behaviours[0]
        return behaviour.law if len(self.behaviours) == 1 and behaviour.shifts else None

    def rearranged(self, order: IntArray) -> CellNoise:
        """Return this noise for the cells in another order: cell ``order[i]`` becomes cell ``i``."""
        if self.size is None:
            return self
        which = None if self.which is None else self.which[order]
        return replace(self, which=which, high=self.high[order] if isinstance(self.high, np.ndarray) else self.high)

    # ---------------------------------------------------------------- ranges

    def _flat(self, values: object) -> IntArray:
        """Return the counts in one dimension, clipped to the range in which 64-bit arithmetic is safe."""
        array = np.asarray(values)
        if array.dtype.kind not in "iuO":
            raise WrongType.must_be("counts of cells", "an array of integers", InWords(f"{array.dtype} values"))
        if self.size is not None and array.size != self.size:
            raise InvalidInput(f"this noise is for {self.size} cells; got {array.size}.", "Give a count for each cell.")
        low = 0 if array.dtype.kind == "u" else UNCLAMPED_LOW  # unsigned numbers cannot be compared with a negative one
        return np.asarray(np.clip(array, low, UNCLAMPED_HIGH - 1), np.int64).reshape(-1)

    def _parts(self, size: int) -> Iterator[tuple[int, IntArray | slice]]:
        """Yield the index of each mechanism, and its cells."""
        if self.which is None:
            yield 0, slice(0, size)
            return
        order = np.argsort(self.which, kind="stable")
        bounds = np.searchsorted(self.which[order], np.arange(len(self.mechanisms) + 1))
        for number in range(len(self.mechanisms)):
            if bounds[number] < bounds[number + 1]:
                yield number, order[bounds[number] : bounds[number + 1]]

    def largest(self, size: int) -> IntArray:
        """Return the largest true count of each cell that the mechanism distinguishes."""
        high = np.broadcast_to(LARGEST_INTEGER if self.high is None else np.asarray(self.high, np.int64), (size,))
        tops = np.array([behaviour.largest for behaviour in self.behaviours] + [0])
        return np.asarray(np.minimum(high, tops[0] if self.which is None else tops[self.which]))

    def clamp(self, size: int) -> tuple[int, IntArray]:
        """Return the range to which mechanism and output clamp the reports of each cell."""
        ends = [behaviour.clamp for behaviour in self.behaviours]
        below = max(min(end[0] for end in ends), UNCLAMPED_LOW if self.low is None else self.low)
        tops = np.array([end[1] for end in ends] + [0])
        above = np.broadcast_to(tops[0], (size,)) if self.which is None else tops[self.which]
        return below, np.minimum(above, self.largest(size) if self.output == "in-range" else UNCLAMPED_HIGH)

    def bounded(self, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return a mask of the cells whose true count may exceed their largest."""
        if self.known:
            return self.largest(size) < np.asarray(self.high)
        return self.largest(size) < LARGEST_INTEGER

    # ---------------------------------------------------------------- drawing

    def draw(self, counts: Any, bits: Bits) -> IntArray:
        """Draw noisy counts for true counts. No count makes it fail; true counts are not kept.

        Parameters
        ----------
        counts
            Integers of any shape, in the order of the cells.
        bits
            The source of randomness: ``SecureBits()``, or ``SeededBits`` in experiments.
        """
        truths = self._flat(counts)
        np.clip(truths, 0, self.largest(truths.size), out=truths)
        reports = np.zeros(truths.size, np.int64)
        for number, cells in self._parts(truths.size):
            counts_of_part, sampler = truths[cells], self._samplers[number]
            noisy = np.empty(counts_of_part.size, np.int64)
            for start in range(0, noisy.size, DRAWS_PER_CHUNK):
                end = start + DRAWS_PER_CHUNK
                noisy[start:end] = sampler.draw(counts_of_part[start:end], bits)
            reports[cells] = noisy
        below, above = self.clamp(reports.size)
        return np.clip(reports, below, above, out=reports).reshape(np.shape(counts))

    # ---------------------------------------------------------------- accuracy

    def accuracy(self, reported: object, level: object = Fraction(19, 20)) -> Accuracy:
        """Return the accuracy of each reported count: see :class:`~.accuracy.Accuracy`."""
        coverage, reports = read_level(level), self._flat(reported)
        low, high = self.intervals(reports, coverage)
        return Accuracy(coverage, low, high, *self.figures(reports.size))

    def intervals(self, reported: object, coverage: Fraction) -> tuple[IntArray, IntArray]:
        """Return the intervals of :meth:`accuracy`."""
        reports = self._flat(reported)
        size = reports.size
        low, high = np.zeros(size, np.int64), np.zeros(size, np.int64)
        largest, (below, above) = self.largest(size), self.clamp(size)
        for number, cells in self._parts(size):
            behaviour = self.behaviours[number]
            report, top, end = reports[cells], largest[cells], above[cells]
            # tables are searched truth by truth, so each distinct report is searched once
            once, which = _distinct(report, top) if behaviour.rows else (slice(None), slice(None))
            least, most = behaviour.intervals(report[once], top[once], below, end[once], coverage)
            low[cells], high[cells] = least[which], most[which]
        high[self.bounded(size) & (high >= largest)] = NO_END
        return low, high

    def figures(self, size: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return for each cell the largest sd, least and largest bias and least probability of the truth."""
        figures = np.zeros((4, size))
        figures[3] = 1.0
        largest, (below, above) = self.largest(size), self.clamp(size)
        for number, cells in self._parts(size):
            top, end = largest[cells], above[cells]
            once, which = _distinct(top)
            figures[:, cells] = np.stack(self.behaviours[number].figures(top[once], below, end[once]))[:, which]
        return figures[0], figures[1], figures[2], figures[3]

    def expected(self, level: object = Fraction(19, 20)) -> Expected:
        """Return the worst case over all cells and truths, known before any data is read."""
        coverage = read_level(level)
        size = 1 if self.size is None else self.size
        sd, bias_low, bias_high, exact = self.figures(size)
        largest, (below, above) = self.largest(size), self.clamp(size)
        width = 0
        for number, cells in self._parts(size):  # the widest range has the widest window
            top, end = int(largest[cells].max()), int(above[cells].max())
            width = max(width, self.behaviours[number].half_width(top, below, end, coverage))
        return Expected(
            coverage, width, float(sd.max()), float(bias_low.min()), float(bias_high.max()), float(exact.min())
        )

    # ---------------------------------------------------------------- files

    @property
    def unused(self) -> bool:
        """True if no cell uses one of the mechanisms."""
        used = {0} if self.which is None else {*self.which.tolist()} - {-1}  # cells of size 0 use none
        return used != set(range(len(self.mechanisms)))

    def to_json(self) -> dict[str, Json]:
        """Return the noise as JSON values; :meth:`from_json` rebuilds it and verifies its privacy again."""
        return {
            "mechanisms": [mechanism.to_json() for mechanism in self.mechanisms],
            "which": None if self.which is None else self.which.tolist(),
            "output": self.output,
            "low": self.low,
            "high": self.high.tolist() if isinstance(self.high, np.ndarray) else self.high,
            "known": self.known,
        }

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> CellNoise:
        """Rebuild the noise; the judge verifies each mechanism again."""
        try:
            noise = cls(
                tuple(rebuild(content, "a mechanism of the request") for content in description["mechanisms"]),
                _integers(description["which"]),
                str(description["output"]),
                description["low"],
                high if is_integer(high := description["high"]) else _integers(high),
                description["known"] is True,
            )
        except (KeyError, TypeError, AttributeError):
            raise InvalidInput(
                "this does not describe the noise of cells; the file may be damaged.", argument="description"
            ) from None
        if noise.known is not description["known"] or type(noise.low) is float:
            raise InvalidInput(
                "known must be true or false, and low a whole number or null.",
                argument="description",
            )
        noise.behaviours  # noqa: B018 - refuses mechanisms that are not for counts
        return noise

    def __repr__(self) -> str:
        shown = ", ".join(repr(mechanism) for mechanism in self.mechanisms[:3])
        more = f", and {len(self.mechanisms) - 3} more" if len(self.mechanisms) > 3 else ""
        return f"<CellNoise: {shown}{more}; {self.output}>"


def _distinct(first: IntArray, *others: IntArray) -> tuple[Any, Any]:
    """Return the first index of each distinct combination of values, and the combination of each cell."""
    varying = [array for array in (first, *others) if array.size and array.min() != array.max()]
    if not varying:
        return slice(0, 1), np.zeros(first.size, np.int64)
    if len(varying) == 1:
        _, once, which = np.unique(varying[0], return_index=True, return_inverse=True)
    else:
        _, once, which = np.unique(np.stack(varying, axis=1), axis=0, return_index=True, return_inverse=True)
    return once, which.reshape(-1)


def _integers(values: object) -> IntArray | None:
    """Return a list of whole numbers as an array; None stays None."""
    if values is None:
        return None
    if not isinstance(values, list) or not all(map(is_integer, values)):
        raise TypeError
    return np.array(values, np.int64)


# ------------------------------------------------------------------------------------------------ making it


def cell_noise(
    mechanism: str | Mechanism | TableFamily = "geometric",
    *,
    epsilon: object = None,
    sigma2: object = None,
    bound: int | None = None,
    sizes: object = None,
    output: str | None = None,
) -> CellNoise:
    """Make the noise for the cells of a table.

    Parameters
    ----------
    mechanism
        The name of a family that is offered for releases; a mechanism on ``Counts`` or ``Integers``, such as one that
        ``dc.load`` returns; or a function that makes one from the largest count and the epsilon of a cell, such as a
        design with properties.
    epsilon, sigma2
        The epsilon of one cell, for a name; sigma2 for a family that takes it, such as the discrete Gaussian.
    bound
        The largest count, chosen beforehand: larger counts are treated as this one.
    sizes
        The public size of each cell's group: its count lies between 0 and the size.
    output
        "signed", "clamped" or "in-range"; by default in range where there is a largest count, else signed.

    Examples
    --------
    >>> noise = cell_noise("geometric", epsilon=1)
    >>> noise.expected(0.95).half_width
    3
    """
    limit, known = _read_limit(bound, sizes)
    if isinstance(mechanism, Mechanism):
        if epsilon is not None or sigma2 is not None:
            raise InvalidInput(
                "this mechanism already has its own epsilon.", f"Leave {arg('epsilon')} and {arg('sigma2')} out."
            )
        return _of_mechanism(mechanism, limit, known, output)
    if callable(mechanism):
        return _of_tables("a design", mechanism, as_fraction(epsilon, "epsilon"), limit, output)
    family = _cell_family(mechanism)
    by_sigma2 = takes_sigma2(mechanism)
    if by_sigma2 != (sigma2 is not None) or by_sigma2 == (epsilon is not None):
        scale = f"{arg('sigma2')}, and no epsilon" if by_sigma2 else f"{arg('epsilon')}, and no sigma2"
        raise InvalidInput(f"{family.cli_name} needs {scale}.", argument="sigma2" if by_sigma2 else "epsilon")
    if family.unbounded:
        build = resolve(family.unbounded)
        ready = build(sigma2=sigma2) if by_sigma2 else build(epsilon=epsilon)
        return _of_mechanism(ready, limit, known, output)

    def table(n: int, share: Fraction) -> Mechanism:
        return family.make(Counts(n), epsilon=share)

    return _of_tables(family.cli_name, table, as_fraction(epsilon, "epsilon"), limit, output)


def cell_mechanism(name: object) -> str:
    """Return the standard spelling of the name of a mechanism for cells."""
    return _cell_family(name).cli_name


def takes_sigma2(mechanism: object) -> bool:
    """Return True if this names a mechanism for cells whose noise is scaled by sigma2 rather than epsilon."""
    return isinstance(mechanism, str) and "sigma2" in _cell_family(mechanism).parameters


def _cell_family(name: object) -> Family:
    return FAMILIES.find(name, "release", "a mechanism for cells, nor a file of one")


def _read_limit(bound: object, sizes: object) -> tuple[int | IntArray | None, bool]:
    """Return the largest count, one or one for each cell, and whether it is a public size."""
    if bound is not None and sizes is not None:
        raise InvalidInput(f"give {arg('bound')} or {arg('sizes')}, not both: the sizes are bounds already.")
    if sizes is not None:
        array = np.asarray(sizes)
        if array.dtype.kind not in "iu" or array.ndim != 1 or not array.size:
            raise WrongType(f"{named('sizes')} must be whole numbers, one for each cell.")
        if int(array.min()) < 0 or int(array.max()) > LARGEST_INTEGER:
            raise InvalidInput("the size of a group must lie between 0 and 2**62.", argument="sizes")
        return array.astype(np.int64), True
    if bound is None:
        return None, False
    if not is_integer(bound) or not 1 <= int(bound) <= LARGEST_INTEGER:  # type: ignore[call-overload]
        raise InvalidInput.must_be("bound", "a whole number from 1 to 2**62", bound, meaning="the largest count")
    return int(bound), False  # type: ignore[call-overload]


def _of_mechanism(mechanism: Mechanism, limit: int | IntArray | None, known: bool, output: str | None) -> CellNoise:
    """Make the noise of one mechanism for all cells, with an output that it allows."""
    behaviour = Behaviour.of(mechanism)
    if behaviour.law is None:
        if limit is not None and not (isinstance(limit, int) and limit == behaviour.largest):
            raise InvalidInput(
                f"{mechanism.family} is a table for the counts 0..{behaviour.largest} and no others.",
                f"Leave {arg('bound')} and {arg('sizes')} out, or choose noise that suits every range, such as "
                "geometric.",
            )
        if output not in (None, "in-range"):
            raise InvalidInput(
                f"the reports of {mechanism.family} lie in its own range.", f"Leave {arg('counts')} out."
            )
        top = len(behaviour.rows[0].weights) - 1
        if top != behaviour.largest:
            raise Unsupported(
                f"{mechanism.family} reports up to {top} for counts up to {behaviour.largest}.", argument="mechanism"
            )
        return CellNoise((mechanism,), None, "in-range", 0, behaviour.largest)
    ends = behaviour.clamp
    if limit is None and behaviour.largest < LARGEST_INTEGER:
        limit = behaviour.largest
    narrow = "in-range" if ends[1] < UNCLAMPED_HIGH else "clamped" if ends[0] >= 0 else "signed"
    if output is None:
        output = narrow if limit is None else "in-range"
    if output in OUTPUTS and OUTPUTS.index(output) < OUTPUTS.index(narrow):
        raise InvalidInput(
            f"the reports of {mechanism.family} are {narrow} anyway.", f"Leave {arg('counts', output)} out."
        )
    return CellNoise((mechanism,), None, output, None if output == "signed" else 0, limit, known)


def _of_tables(
    name: str, family: TableFamily, epsilon: Fraction, limit: int | IntArray | None, output: str | None
) -> CellNoise:
    """Make the noise of one table for each distinct size of a group."""
    if limit is None:
        raise InvalidInput(f"{name} needs a largest count.", f"Give {arg('bound')} or {arg('sizes')}")
    if output not in (None, "in-range"):
        raise InvalidInput(f"the reports of {name} lie in its own range.", f"Leave {arg('counts', output)} out.")
    if isinstance(limit, int):
        refuse_large(limit + 1, limit + 1)
        return CellNoise((family(limit, epsilon),), None, "in-range", 0, limit)
    distinct, which = np.unique(limit, return_inverse=True)
    if len(distinct) > MAX_TABLE_SIZES:
        raise Unsupported(
            f"{name} needs a table of its own for each size of a group; there are {len(distinct)} different sizes "
            f"(at most {MAX_TABLE_SIZES}).",
            f"Use geometric, one {arg('bound')} for all, or sizes rounded up to a few.",
        )
    refuse_large(int((distinct + 1).max()), int((distinct + 1).sum()))
    empty = int(distinct[0] == 0)  # a group of size 0 has the count 0, without noise
    if empty == len(distinct):
        raise InvalidInput("the sizes of all groups are 0: there is nothing to count.", argument="sizes")
    mechanisms = tuple(family(n, epsilon) for n in distinct[empty:].tolist())
    return CellNoise(mechanisms, which.reshape(-1) - empty, "in-range", 0, limit, known=True)
