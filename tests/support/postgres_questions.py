"""A table in PostgreSQL, and questions about tables there."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.engines.sources import open_source
from discreet.errors import DiscreetError
from support.countings import counting

VISITS = (
    "CREATE TABLE visits (person text, city text, age integer, seen date)",
    "INSERT INTO visits SELECT 'p' || i % 50, (ARRAY['Rome', 'Oslo', 'Bonn'])[1 + i % 3], i % 90, "
    "DATE '2020-01-01' + i FROM generate_series(1, 600) AS i",
)
CITIES = ["Rome", "Oslo", "Bonn"]


def one(data: str, condition: str, table: str = "public.t") -> int:
    """How many rows of a table match."""
    source = open_source(data)
    asked = counting(f"SELECT COUNT(*) FROM {table} WHERE {condition}")
    source.rehearse([asked])
    return int(source.count([asked])[0].item())


def refusal(data: str, sql: str, unit: str = "row") -> str:
    """What a plan, which reads no row, is refused with."""
    with pytest.raises(DiscreetError) as refused:
        dc.plan_release(sql, data=data, unit=unit, epsilon=1, max_groups=1)
    return str(refused.value)
