"""A mechanism in a file, for the tests of this room."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc


@pytest.fixture
def mechanism(tmp_path: Path) -> Path:
    file = tmp_path / "m.json"
    dc.geometric(20, epsilon=1).save(file)
    return file
