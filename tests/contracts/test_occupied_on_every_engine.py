"""Occupied groups on every engine: those with somebody in them, with the counts that all declared groups have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.engines.base import Counting
from discreet.questions.groups import Groups, groups_from, with_zeros
from discreet.questions.question import read_question
from support.engines import KEY, Engine, every_engine

SCHEMA = pa.schema({"person": pa.string(), "site": pa.int32(), "page": pa.string(), "x": pa.int32()})
ROWS = [(None if i % 13 == 0 else f"p{i % 9}", i * i % 7, f"page {i % 5}", i % 3) for i in range(80)]


def groups(sites: int, pages: int) -> Groups:
    values = {"site": range(sites), "page": [f"page {k}" for k in range(pages)]}
    return with_zeros(groups_from(values, ["site", "page"]), [{"site": 2, "page": "page 1"}])


def countings(sites: int, pages: int) -> list[Counting]:
    found = []
    for conditions in ("", ", COUNT_IF(x = 1) AS a", ", COUNT_IF(x = 1) AS a, COUNT_IF(x <> 1) AS b"):
        for unit, k, rows in (("row", 1, None), ("person", 1, None), ("person", 3, None), ("person", 3, 2)):
            sql = f"SELECT site, page, COUNT(*){conditions} FROM t GROUP BY site, page"
            question = read_question(sql, unit=unit)
            found.append(Counting(question, groups(sites, pages), unit, k, KEY, max_rows=rows, sparse=True))
    return found


@every_engine
def test_occupied_groups_have_the_counts_of_all_groups(engine: Engine, tmp_path: Path) -> None:
    source = engine.store(tmp_path, ROWS, SCHEMA)
    for sites, pages in ((3, 4), (12, 30)):  # sets of bits, and lists
        asked = list(map(engine.asked, countings(sites, pages)))
        source.rehearse(asked)
        for counting, counts, occupied in zip(asked, source.count(asked), source.occupied(asked), strict=True):
            found = np.zeros_like(counts)
            found[occupied.groups] = occupied.counts
            np.testing.assert_array_equal(found, counts, str(counting))
            assert (np.diff(occupied.groups) > 0).all()
            assert set(np.flatnonzero(counts.any(axis=1))) <= set(occupied.groups.tolist()) - counting.groups.zeros


@every_engine
def test_a_thousand_million_groups_are_not_listed(engine: Engine, tmp_path: Path) -> None:
    source = engine.store(tmp_path, ROWS, SCHEMA)
    small = engine.asked(countings(7, 5)[2])
    values = {"site": range(1_000_000), "page": [f"page {k}" for k in range(1000)]}
    large = replace(small, groups=groups_from(values, ["site", "page"]), max_groups=99)
    small = replace(
        small, groups=groups_from({"site": range(7), "page": values["page"][:5]}, ["site", "page"]), max_groups=99
    )
    (few,), (many,) = source.occupied([small]), source.occupied([large])
    np.testing.assert_array_equal(many.groups, few.groups // 5 * 1000 + few.groups % 5)
    np.testing.assert_array_equal(many.counts, few.counts)
