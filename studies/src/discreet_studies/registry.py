"""The studies: one for each paper, and one for new results."""

from __future__ import annotations

from .bounded.exhibits import BOUNDED
from .experiments.exhibits import CONSTRAINED
from .places.exhibits import PLACES
from .reconstruction.exhibits import RECONSTRUCTION
from .results.exhibits import RESULTS
from .study import Study

STUDIES: tuple[Study, ...] = (RECONSTRUCTION, BOUNDED, PLACES, CONSTRAINED, RESULTS)
