"""What every exhibit keeps: charts that can be drawn, tables that can be stored, claims that say something."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import pytest
import vl_convert

from discreet_studies.claims import Verdict
from discreet_studies.study import ExhibitResult


def check(drawn: Mapping[str, ExhibitResult], capfd: pytest.CaptureFixture[str]) -> None:
    """Fail where an exhibit does not keep it."""
    for key, one in drawn.items():
        assert one.tables, key
        for name, chart in one.charts.items():
            assert chart.png(scale=0.5).startswith(b"\x89PNG"), (key, name)
            vl_convert.vegalite_to_vega(chart.spec, show_warnings=True)
            assert "WARN" not in "".join(capfd.readouterr()), (key, name)
            assert chart.spec["title"]["text"] and chart.spec["title"]["subtitle"], (key, name)
        for name, rows in one.tables.items():
            assert rows and len({tuple(row) for row in rows}) == 1, (key, name)
            for row in rows:
                assert json.loads(json.dumps(dict(row), allow_nan=False)) == dict(row), (key, name)
                assert all(math.isfinite(value) for value in row.values() if isinstance(value, float)), (key, name)
    claims = [claim for one in drawn.values() for claim in one.claims]
    assert len({claim.key for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.place.startswith("[") and claim.statement.endswith(".") and claim.measured.endswith("."), claim.key
        assert any(letter.isdigit() for letter in claim.measured) or claim.key == "theorem 1", claim.key
        assert claim.why.endswith(".") if claim.why else claim.verdict is Verdict.HOLDS, claim.key


def verdicts(drawn: Mapping[str, ExhibitResult]) -> dict[str, str]:
    """The verdict of each claim by its key."""
    return {claim.key: claim.verdict.value for one in drawn.values() for claim in one.claims}
