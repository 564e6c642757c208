"""Which tests run when: the folder decides, or the mark of one parameter.

- fast: everything that stands in none of the folders below (``make test``);
- ``full/``: needs a server, a browser, Java or minutes (``make test-all``);
- ``long/``: the largest batteries (``make test-long``).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

from support.paths import TESTS

#: Marks, each named like the folder whose tests have it.
TIERS = ("full", "long")

#: Marks of single tests and parameters that do not stand in such a folder.
full = pytest.mark.full
long = pytest.mark.long


def tier(path: Path) -> str | None:
    """The tier of a test's folder, or None for the fast one."""
    if not path.is_relative_to(TESTS):
        return None
    folder = path.relative_to(TESTS).parts[0]
    return folder if folder in TIERS else None


#: Examples of a property that names no number of its own, and how many times as many `make test-long` tries.
EXAMPLES, LONG = 40, 10


def examples(several: int) -> settings:
    """Settings of a property that wants more or fewer examples than usual; the long tier multiplies them."""
    return settings(max_examples=several * settings().max_examples // EXAMPLES)


def batches(fast: int = 0, full: int = 0, long: int = 0) -> list[ParameterSet]:
    """Number the batches of a battery: how many run in each tier. No batch runs in two."""
    marks = [()] * fast + [pytest.mark.full] * full + [pytest.mark.long] * long
    return [pytest.param(number, marks=mark) for number, mark in enumerate(marks)]
