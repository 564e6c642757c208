"""Type hints of arrays, by their element type, and reading numbers as doubles."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: An array of any element type: values of some space, or a user's input.
Array = NDArray[Any]


def as_float(number: float | Fraction) -> float:
    """Return the nearest double; infinity for a number beyond the largest double."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def as_floats(values: object) -> FloatArray:
    """Return numbers as doubles; those beyond the largest double become infinite, for readers to refuse.

    Raises
    ------
    TypeError, ValueError
        If they are not an array of numbers, as NumPy says it.

    >>> as_floats([1, -(10**400)]).tolist()
    [1.0, -inf]
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        entries = np.asarray(values, dtype=object)
        return np.array([as_float(entry) for entry in entries.ravel().tolist()], np.float64).reshape(entries.shape)
