"""Type hints of arrays, by their element type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: An array of any element type: values of some space, or a user's input.
Array = NDArray[Any]
