"""The studies, one for each paper."""

from __future__ import annotations

from .bounded.exhibits import BOUNDED
from .constrained.exhibits import CONSTRAINED
from .places.exhibits import PLACES
from .reconstruction.exhibits import RECONSTRUCTION
from .study import Study

STUDIES: tuple[Study, ...] = (RECONSTRUCTION, BOUNDED, PLACES, CONSTRAINED)
