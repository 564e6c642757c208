"""What every exhibit promises: tables that can be stored, charts that can be drawn, claims that say something."""

from __future__ import annotations

import json
import math

import pytest
import vl_convert

from discreet.studies.claims import Verdict
from discreet.studies.running import StudyResult


def tables_are_whole(found: StudyResult) -> None:
    """The rows of each table have the same columns and finite, JSON-able values."""
    for key, drawn in found.drawn.items():
        assert drawn.tables, key
        for name, rows in drawn.tables.items():
            assert rows and len({tuple(row) for row in rows}) == 1, (key, name)
            for row in rows:
                assert json.loads(json.dumps(dict(row), allow_nan=False)) == dict(row), (key, name)
                assert all(math.isfinite(value) for value in row.values() if isinstance(value, float)), (key, name)


def charts_are_drawn(found: StudyResult, capfd: pytest.CaptureFixture[str]) -> None:
    """Each chart is a picture with a title and a sentence under it, and compiles without a warning."""
    for key, drawn in found.drawn.items():
        for name, chart in drawn.charts.items():
            assert chart.png(scale=0.5).startswith(b"\x89PNG"), (key, name)
            vl_convert.vegalite_to_vega(chart.spec, show_warnings=True)
            assert "WARN" not in "".join(capfd.readouterr()), (key, name)
            assert chart.spec["title"]["text"] and chart.spec["title"]["subtitle"], (key, name)


def claims_are_whole(found: StudyResult) -> None:
    """Each has its own key, a place, and a number that was measured; what does not simply hold says why."""
    assert len({claim.key for claim in found.claims}) == len(found.claims)
    for claim in found.claims:
        assert claim.place.startswith(f"[{found.study.letter}] ") and claim.statement.endswith("."), claim.key
        assert any(letter.isdigit() for letter in claim.measured), claim.key
        assert claim.verdict is Verdict.HOLDS or claim.why, claim.key
