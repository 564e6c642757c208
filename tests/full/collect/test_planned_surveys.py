"""Ten plans, and surveys of the planned size with people who report one by one: slow."""

from __future__ import annotations

import sys

import pytest

from support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"


def test_ten_planned_surveys_have_the_wanted_error_to_within_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import planning

    try:
        found = list(planning.lines())
    finally:
        for name in ("planning", "measure"):
            sys.modules.pop(name, None)
    assert len(found) == 10
    assert [line.what for line in found if not line.holds] == []
