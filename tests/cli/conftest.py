"""A mechanism in a file, for the tests of this room."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc


@pytest.fixture
def mechanism(tmp_path: Path) -> Path:
    """Return the file of an explicit fair mechanism for counts up to 8."""
    file = tmp_path / "m.json"
    dc.explicit_fair(8, alpha="10/11").save(file)
    return file
