"""Mechanisms that the tests of the service collect with."""

from __future__ import annotations

import discreet as dc

COUNTS = dc.geometric(20, epsilon=1)
LABELS = dc.randomized_response(["yes", "no", "7"], epsilon=1)
LARGE = dc.geometric(600, epsilon=1)
