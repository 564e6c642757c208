"""Arrays by what is in them, as type hints say it everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: An array of whatever its place allows: values of some space, or what somebody gave.
Array = NDArray[Any]
