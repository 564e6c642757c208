"""What every exhibit keeps: charts that can be drawn, tables with equal columns and finite numbers, claims in words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from discreet.studies.study import Drawn


def check(drawn: Mapping[str, Drawn]) -> None:
    """Fail where an exhibit does not keep it."""
    for key, one in drawn.items():
        assert one.charts and one.tables, key
        for name, chart in one.charts.items():
            assert chart.png(1)[1:4] == b"PNG", (key, name)
            assert chart.spec["title"]["text"] and chart.spec["title"]["subtitle"], (key, name)
        for name, rows in one.tables.items():
            assert rows and len({tuple(row) for row in rows}) == 1, (key, name)
            numbers = [value for row in rows for value in row.values() if isinstance(value, float)]
            assert all(math.isfinite(number) for number in numbers), (key, name)
            json.dumps(rows, allow_nan=False)
    claims = [claim for one in drawn.values() for claim in one.claims]
    assert len({claim.key for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.place.startswith("[") and claim.statement.endswith(".") and claim.measured.endswith("."), claim.key
        assert any(letter.isdigit() for letter in claim.measured) or claim.key == "theorem 1", claim.key
        assert not claim.why or claim.why.endswith("."), claim.key


def verdicts(drawn: Mapping[str, Drawn]) -> dict[str, str]:
    """The verdict of each claim by its key."""
    return {claim.key: claim.verdict.value for one in drawn.values() for claim in one.claims}
