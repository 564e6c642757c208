"""Losses: the cost of a wrong report. Every loss is defined once, here.

The same object is the objective of a linear program, the measure of a reported cost and a name in a sentence.

=================  =================================  ==============================================
loss               value for truth i and report j     in words
=================  =================================  ==============================================
``"L0"``           1 if i != j, else 0                wrong or not
``"L1"``           \\|i - j\\|                          the absolute error
``"L2"``           \\|i - j\\|^2                        the squared error
``beyond(d)``      1 if \\|i - j\\| > d, else 0         off by more than d (``"L0_d"`` in [C])
``power(p)``       \\|i - j\\|^p                        L0, L1 and L2 are p = 0, 1 and 2
``matrix(L)``      L[i, j]                            any losses, one row per truth
``function(f)``    f(truth, report)                   any losses, from a function of two values
=================  =================================  ==============================================

On a grid \\|i - j\\| is the distance between centres; on labels it is 0 or 1. Values are exact fractions wherever the
number is rational, and floats otherwise (the distance along a diagonal of a grid).

>>> import discreet as dc
>>> print(dc.losses.L1.sentence)
the absolute error: how far off

[C] is Cormode, Kulkarni, Srivastava, *Constrained Differential Privacy for Count Data*, definition 3.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from .errors import ON_A_RANGE, InvalidInput, InWords, Unsupported, WrongType, meant
from .exact.arrays import Array, FloatArray, IntArray
from .exact.rationals import Number, as_fraction
from .exact.tables import refuse_large
from .spaces import Counts, Integers, Space

__all__ = ["L0", "L1", "L2", "Loss", "beyond", "function", "matrix", "power", "resolve", "squared_distances"]

#: The loss of a true and a reported value, as a number.
LossFunction: TypeAlias = Callable[[Any, Any], object]


class Loss(ABC):
    """The cost of reporting j when the truth is i. Rows are truths and columns are reports, as everywhere.

    Examples
    --------
    >>> L2.name, L2.exact(1, 4), L2.symmetric, L2.nondecreasing
    ('L2', Fraction(9, 1), True, True)
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The short name, such as "L1"; :func:`resolve` reads it back."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The loss in plain words."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """True if the loss equals its mirror image: loss(n-i, n-j) = loss(i, j)."""

    @property
    @abstractmethod
    def nondecreasing(self) -> bool:
        """True if, for every truth, the loss is a nondecreasing function of the distance \\|i - j\\|."""

    @abstractmethod
    def exact(self, i: int, j: int, space: Space | None = None) -> Fraction:
        """Return the exact loss of reporting index j when the truth has index i (of counts without a space)."""

    @abstractmethod
    def levels(self, inputs: Space, outputs: Space) -> tuple[tuple[Fraction | float, ...], IntArray]:
        """Return the distinct values and, for every (truth, report), the index of its value.

        A value is a Fraction if the loss is rational there, and a float otherwise.
        """

    def by_distance(self, n: int) -> list[Fraction | float] | None:
        """Return the loss at the distances 0..n between counts; None if it depends on more than the distance."""
        return None

    def on(self, inputs: Space, outputs: Space) -> Loss:
        """Return the loss for these true and reported values: itself, if it is the same for all."""
        return self

    def of(self, inputs: Space, outputs: Space) -> FloatArray:
        """Return the matrix of losses, as floats: one row per truth, one column per report."""
        try:
            values, codes = self.levels(inputs, outputs)
            return np.array([float(v) for v in values])[codes]
        except OverflowError:
            raise InvalidInput(
                f"the loss {self.name} is too large here for a float.", "Give a smaller power."
            ) from None

    def exact_levels(self, inputs: Space, outputs: Space) -> tuple[tuple[Fraction, ...], IntArray]:
        """Return :meth:`levels` if every value is rational; refuse otherwise."""
        values, codes = self.levels(inputs, outputs)
        exact = tuple(v for v in values if isinstance(v, Fraction))
        if len(exact) != len(values):
            raise _irrational(self, inputs)
        return exact, codes

    def __str__(self) -> str:
        return self.name


def _irrational(loss: Loss, space: Space) -> Unsupported:
    return Unsupported(
        f"the loss {loss.name} has irrational values on this space ({space.name}), so there is no exact answer.",
        "Ask without exact=True, or use L0, L2 or losses.beyond(d), which are rational everywhere.",
    )


def squared_distances(inputs: Space, outputs: Space) -> IntArray:
    """Return the integers k[i, j] for which the distance from truth i to report j is ``outputs.unit * sqrt(k[i, j])``.

    Both must be counts, or both the same grid or labels: a label has no distance from a count.

    Examples
    --------
    >>> squared_distances(Counts(1), Counts(2)).tolist()
    [[0, 1, 4], [1, 0, 1]]
    """
    if inputs.size is None or outputs.size is None:
        raise Unsupported(
            "a matrix of losses needs finitely many true and reported values; these have no end.",
            f"Use {ON_A_RANGE} first.",
        )
    if not inputs.shares_distance(outputs):
        raise Unsupported(
            f"there is no distance between a true {inputs.noun} and a reported {outputs.noun} of another space.",
            "Give the losses yourself with losses.matrix(L), one row per true value.",
        )
    return outputs.squared_distance(np.arange(inputs.size)[:, None], np.arange(outputs.size)[None, :])


class _DistanceLoss(Loss):
    """A loss that depends only on the distance."""

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def nondecreasing(self) -> bool:
        return True

    @abstractmethod
    def at(self, unit: Fraction, k: int) -> Fraction | float:
        """Return the loss at the distance ``unit * sqrt(k)``."""

    def by_distance(self, n: int) -> list[Fraction | float] | None:
        return [self.at(Fraction(1), d * d) for d in range(n + 1)]

    def exact(self, i: int, j: int, space: Space | None = None) -> Fraction:
        values = Integers() if space is None else space
        value = self.at(values.unit, values.exact_squared_distance(i, j))
        if isinstance(value, Fraction):
            return value
        raise _irrational(self, Counts(1) if space is None else space)

    def levels(self, inputs: Space, outputs: Space) -> tuple[tuple[Fraction | float, ...], IntArray]:
        squares = squared_distances(inputs, outputs)
        if squares.size and int(squares.max()) > 4 * squares.size:  # few of many possible distances
            present, codes = np.unique(squares, return_inverse=True)
            return tuple(self.at(outputs.unit, k) for k in present.tolist()), codes.reshape(squares.shape)
        present = np.flatnonzero(np.bincount(squares.ravel()))
        number = np.zeros(int(present[-1]) + 1, dtype=np.int64)
        number[present] = np.arange(len(present))
        return tuple(self.at(outputs.unit, k) for k in present.tolist()), number[squares]


_IN_WORDS = {
    "L0": "wrong or not: 1 for every report that is not the truth",
    "L1": "the absolute error: how far off",
    "L2": "the squared error: how far off, squared",
}


@dataclass(frozen=True)
class _Power(_DistanceLoss):
    """\\|i - j\\|^p, with 0^0 = 0."""

    p: Fraction

    @property
    def name(self) -> str:
        return f"L{self.p}"

    @property
    def sentence(self) -> str:
        return _IN_WORDS.get(self.name, f"how far off, to the power {self.p}")

    def at(self, unit: Fraction, k: int) -> Fraction | float:
        if k == 0 or self.p == 0:
            return Fraction(int(k > 0))
        square = unit * unit * k
        if self.p % 2 == 0:
            return square ** int(self.p / 2)
        root = math.isqrt(k)
        if root * root == k and (self.p.denominator == 1 or square == 1):
            return (unit * root) ** int(self.p)
        return math.pow(square, self.p / 2)


@dataclass(frozen=True)
class _Beyond(_DistanceLoss):
    """1 if \\|i - j\\| > d, else 0."""

    d: Fraction

    @property
    def name(self) -> str:
        return f"L0_{self.d}"

    @property
    def sentence(self) -> str:
        return f"off by more than {self.d}, or not"

    def at(self, unit: Fraction, k: int) -> Fraction:
        return Fraction(int(unit * unit * k > self.d * self.d))


@dataclass(frozen=True, eq=False)
class _MatrixLoss(Loss):
    """A loss from a matrix."""

    values: Array = field(repr=False)
    #: Its name: that of the function it was made from, if it was.
    title: str = "matrix"

    @property
    def name(self) -> str:
        return self.title

    @property
    def sentence(self) -> str:
        rows, cols = self.values.shape
        return f"the given losses, for {rows} true and {cols} reported values"

    @property
    def symmetric(self) -> bool:
        return bool(np.array_equal(self.values, self.values[::-1, ::-1]))

    @property
    def nondecreasing(self) -> bool:
        rows, cols = self.values.shape
        for i in range(rows):
            distance = np.abs(np.arange(cols) - i)
            order = np.argsort(distance, kind="stable")
            losses = self.values[i][order]
            rises, apart = losses[1:] > losses[:-1], np.diff(distance[order]) > 0
            # Two reports at one distance, left and right of the truth, must cost the same.
            if np.any(losses[1:] < losses[:-1]) or np.any(rises & ~apart):
                return False
        return True

    def exact(self, i: int, j: int, space: Space | None = None) -> Fraction:
        return as_fraction(self.values[i, j], "a loss")

    def _fits(self, inputs: Space, outputs: Space) -> None:
        if self.values.shape != (inputs.size, outputs.size):
            raise InvalidInput(
                f"the matrix of losses has shape {self.values.shape}, but there are {inputs.size} true and "
                f"{outputs.size} reported values.",
                "Give one row per true value and one column per reported value.",
            )

    def levels(self, inputs: Space, outputs: Space) -> tuple[tuple[Fraction | float, ...], IntArray]:
        self._fits(inputs, outputs)
        distinct, codes = np.unique(self.values, return_inverse=True)
        return tuple(as_fraction(v, "a loss") for v in distinct), codes.reshape(self.values.shape).astype(np.int64)

    def of(self, inputs: Space, outputs: Space) -> FloatArray:
        self._fits(inputs, outputs)
        return self.values.astype(np.float64)


@dataclass(frozen=True)
class _FunctionLoss(Loss):
    """Losses as a function of the true and the reported value. What it is like shows on values only (:meth:`on`)."""

    function: LossFunction = field(repr=False)
    title: str

    @property
    def name(self) -> str:
        return self.title

    @property
    def sentence(self) -> str:
        return f"the function {self.title} of the true and the reported value"

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def nondecreasing(self) -> bool:
        return False

    def exact(self, i: int, j: int, space: Space | None = None) -> Fraction:
        values = Integers() if space is None else space
        return as_fraction(self._at(values.value(i), values.value(j)), "a loss")

    def _at(self, truth: object, report: object) -> int | float | Fraction:
        loss = self.function(truth, report)
        if isinstance(loss, bool | np.bool_):
            return int(loss)
        if not isinstance(loss, int | float | Fraction | np.integer | np.floating) or not math.isfinite(loss):
            raise WrongType.must_be(
                "loss", "a function that returns a finite number for every truth and report", InWords(f"{loss!r}")
            )
        return loss.item() if isinstance(loss, np.generic) else loss

    def on(self, inputs: Space, outputs: Space) -> Loss:
        if inputs.size is None or outputs.size is None:
            raise Unsupported(
                "a function of values needs finitely many of them; these have no end.", f"Use {ON_A_RANGE} first."
            )
        refuse_large(inputs.size, outputs.size)
        reports = [outputs.value(j) for j in range(outputs.size)]
        table = [[self._at(inputs.value(i), report) for report in reports] for i in range(inputs.size)]
        return _MatrixLoss(_as_matrix(table), self.title)

    def levels(self, inputs: Space, outputs: Space) -> tuple[tuple[Fraction | float, ...], IntArray]:
        return self.on(inputs, outputs).levels(inputs, outputs)

    def of(self, inputs: Space, outputs: Space) -> FloatArray:
        return self.on(inputs, outputs).of(inputs, outputs)


# ------------------------------------------------------------------------------------------------ building losses

#: Wrong or not: 1 for every report that is not the truth.
L0: Loss = _Power(Fraction(0))
#: The absolute error.
L1: Loss = _Power(Fraction(1))
#: The squared error.
L2: Loss = _Power(Fraction(2))


#: Largest power of distances that is computed exactly.
MAX_POWER = 1000


def power(p: Number) -> Loss:
    """Return the p-th power of the distance, \\|i - j\\|^p, for any p >= 0 (with 0^0 = 0: ``power(0)`` is L0).

    Examples
    --------
    >>> power(3).exact(1, 4)
    Fraction(27, 1)
    """
    exponent = as_fraction(p, meant("p", "the power"))
    if exponent < 0:
        raise InvalidInput.must_be(
            "p", "0 or more, or errors would cost less the larger they are", p, meaning="the power"
        )
    if exponent > MAX_POWER:
        raise InvalidInput.must_be("p", f"at most {MAX_POWER}", p, meaning="the power")
    return _Power(exponent)


def beyond(d: Number) -> Loss:
    """Return the loss of 1 for reports further than d from the truth, else 0; [C]'s L0_d. On a grid d is in its unit.

    Examples
    --------
    >>> beyond(1).exact(1, 2), beyond(1).exact(1, 3)
    (Fraction(0, 1), Fraction(1, 1))
    """
    radius = as_fraction(d, meant("d", "the largest error that costs nothing"))
    if radius < 0:
        raise InvalidInput.must_be("d", "0 or more", d, meaning="the largest error that costs nothing")
    return _Beyond(radius)


def matrix(losses: object) -> Loss:
    """Return a loss from a matrix: L[i, j] is the cost of reporting j when the truth is i.

    Integers and Fractions are exact. In exact answers a float means the simplest rational that rounds to it, so .1 is
    1/10.

    Examples
    --------
    >>> late = matrix([[0, 1, 1], [5, 0, 1], [5, 5, 0]])    # too low costs five times as much as too high
    >>> late.exact(2, 0), late.symmetric
    (Fraction(5, 1), False)
    """
    return _MatrixLoss(_as_matrix(losses))


def _as_matrix(losses: object) -> Array:
    if isinstance(losses, np.ma.MaskedArray):
        raise WrongType("a matrix of losses must not be masked.", "Fill in the missing losses.", argument="losses")
    try:
        values = np.array(losses)
    except ValueError:
        raise InvalidInput("a matrix of losses needs rows of one length.", argument="losses") from None
    if values.dtype.kind not in "iufO":
        raise WrongType(f"a matrix of losses must hold numbers; got {values.dtype} values.", argument="losses")
    if values.ndim != 2 or values.size == 0:
        raise InvalidInput(
            f"a matrix of losses needs rows (truths) and columns (reports); got shape {values.shape}.",
            argument="losses",
        )
    if values.dtype.kind == "O":
        exact = [[as_fraction(v, "a loss") for v in row] for row in values]
        values = np.empty(values.shape, dtype=object)
        values[:] = exact
    elif not np.all(np.isfinite(values)):
        i, j = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
        raise InvalidInput(
            f"losses must be finite numbers; the loss of truth {i}, report {j} is {values[i, j]}.", argument="losses"
        )
    values.flags.writeable = False
    return values


def function(loss: LossFunction, name: str | None = None) -> Loss:
    """Return any loss from a function of the true and the reported value.

    Parameters
    ----------
    loss
        A function ``loss(truth, report)`` of two values (counts, labels, cells), which returns a number: exactly an
        integer or a Fraction, otherwise a float.
    name
        Its name in tables; by default that of the function.

    Examples
    --------
    >>> too_low = function(lambda truth, report: max(0, truth - report), "too low")
    >>> too_low.name, too_low.exact(3, 1), too_low.exact(1, 3)
    ('too low', Fraction(2, 1), Fraction(0, 1))
    """
    title = name or str(getattr(loss, "__name__", type(loss).__name__))
    return _FunctionLoss(loss, "loss" if title == "<lambda>" else title)


def resolve(loss: object) -> Loss:
    """Return the loss from a Loss, a name ("L0", "L1", "L2", "L3", "L0_1" for beyond(1)), a matrix or a function.

    Examples
    --------
    >>> resolve("L0_2") == beyond(2)
    True
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        match = re.fullmatch(r"\s*[Ll](0[_-])?(\d+(?:[./]\d+)?)\s*", loss)
        if match is not None:
            return beyond(match[2]) if match[1] else power(match[2])
    elif isinstance(loss, np.ndarray | list | tuple):
        return matrix(loss)
    elif callable(loss):
        return function(loss)
    raise InvalidInput(
        f"{loss!r} is not a loss.",
        "Give 'L0' (wrong or not), 'L1' (absolute error), 'L2' (squared error), 'L0_1' (off by more than 1), 'L3' "
        "and so on, or in Python an object of dc.losses.",
        argument="loss",
    )
