"""Bands and the rest on neighbouring tables, through the plan and the engine: no report tells more than was paid for.

The law of what is published is worked out exactly: counts of both tables, times the exact probabilities of the
mechanism. Cells have independent noise, so the largest ratio over all joint reports is the product of the largest ratio
of each cell. Planted faults must be caught: otherwise these tests show nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.engines.arrow import source as arrow_source
from discreet.engines.base import Counting
from discreet.engines.reference import Row, count_rows
from discreet.engines.sources import open_source
from discreet.exact.arrays import IntArray
from discreet.exact.rationals import at_most_exp
from discreet.questions.bands import read_bands
from discreet.questions.domains import listed_values
from discreet.release.counts import countings
from discreet.release.plan.plan import Plan
from discreet.release.plan.planning import plan_release

KEY = bytes(range(16))
BOUND = 6
SCHEMA = pa.schema({"p": pa.string(), "age": pa.int64(), "sex": pa.string()})

AGES = [17, 18, 30, 64, 65, None]
SEXES = ["f", "F", None]
POOL = [(age, sex) for age in AGES for sex in SEXES]
OTHERS = [("ann", 18, "f"), ("ann", 30, "x"), ("bob", 70, "f"), ("bob", 30, "m"), (None, 30, "f"), ("cem", None, None)]


def planned(unit: str = "p", k: int = 1, relation: str = "add-remove", **more: Any) -> Plan:
    options: dict[str, Any] = {"bands": {"age": [18, 30, 65, ...]}, "domain": {"sex": ["f", "m", ...]}, **more}
    bound = {} if unit == "row" else {"max_groups": k}
    return plan_release(
        "SELECT age, sex, COUNT(*) FROM t GROUP BY age, sex", data="t", unit=unit, relation=relation, epsilon=1,
        bound=BOUND, **bound, **options,
    )  # fmt: skip


def worst_ratio(plan: Plan, first: IntArray, second: IntArray) -> Fraction:
    """The largest probability ratio of any joint report of the two tables, either way."""
    law = plan.tables[0].noise.mechanisms[0].on(dc.Counts(BOUND))
    most = Fraction(1)
    for one, other in zip(first.reshape(-1).tolist(), second.reshape(-1).tolist(), strict=True):
        if one != other:
            chances = [
                (Fraction(law.probability(one, y)), Fraction(law.probability(other, y))) for y in range(BOUND + 1)
            ]
            most *= max(p / q for p, q in chances)
    return most


def within_claim(plan: Plan, first: IntArray, second: IntArray) -> bool:
    ratios = worst_ratio(plan, first, second), worst_ratio(plan, second, first)
    return all(at_most_exp(ratio, plan.cost.epsilon) for ratio in ratios)


def plain(rows: Iterable[Sequence[Any]]) -> list[Row]:
    return [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]


def belongings() -> list[tuple[tuple[Any, ...], ...]]:
    """Everything one person can have: no row, one, or two of the pool."""
    return [(), *((row,) for row in POOL), *combinations_with_replacement(POOL, 2)]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("kind", ["bands", "rest", "both"])
def test_one_person_more_tells_no_more_than_the_claim(kind: str, k: int) -> None:
    """Every set of up to two rows of one person, beside the same others."""
    only = {"bands": {"domain": {"sex": ["f", "m"]}}, "rest": {"bands": {"age": [0, 100]}}, "both": {}}[kind]
    plan = planned(k=k, **only)
    (counting,) = countings(plan, KEY)
    without = count_rows(plain(OTHERS), counting)
    moved = set()
    for own in belongings():
        counts = count_rows(plain([*OTHERS, *(("zoe", *row) for row in own)]), counting)
        assert (counts >= without).all() and (counts - without).max() <= 1
        moved.add(int((counts - without).sum()))
        assert within_claim(plan, counts, without), own
    assert max(moved) == k  # the claim is used up: no less noise would do


def test_another_value_of_one_row_tells_no_more_than_the_claim() -> None:
    """Substitution of a row: out of a band, into another, into the rest, over an edge."""
    plan = planned("row", relation="substitution")
    (counting,) = countings(plan, KEY)
    counts = [count_rows(plain([*OTHERS, ("zoe", *row)]), counting) for row in POOL]
    assert all(within_claim(plan, one, other) for one, other in combinations(counts, 2))
    assert max(int(abs(one - other).sum()) for one, other in combinations(counts, 2)) == 2


# ------------------------------------------------------------------------------------------------ planted faults

Count = Callable[..., IntArray]

ZOE = [("zoe", 18, "f"), ("zoe", 30, "f"), ("zoe", 30, "F"), ("zoe", 99, "m")]


def through_the_engine(plan: Plan, rows: Sequence[Sequence[Any]]) -> IntArray:
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        [pa.array(values, kind) for values, kind in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA
    )
    (counts,) = open_source(table, "t").count(countings(plan, KEY))
    return counts


def attacks(plan: Plan) -> list[bool]:
    """Whether the claim holds, for each of the rows that one person can have more."""
    tried = [[row] for row in ZOE] + [list(pair) for pair in combinations(ZOE, 2)] + [ZOE]
    without = through_the_engine(plan, OTHERS)
    return [within_claim(plan, through_the_engine(plan, [*OTHERS, *own]), without) for own in tried]


def rest_apart(count: Count) -> Count:
    """The rest is counted beside the bounded groups instead of among them."""

    def planted(engine: Any, counting: Counting, *given: Any) -> IntArray:
        groups, full = counting.groups, count(engine, counting, *given)
        values = tuple(listed_values(values) for values in groups.values)
        listed = replace(counting, groups=replace(groups, values=values))
        counts = np.zeros_like(full)
        inside = (groups.codes() < [len(own) for own in values]).all(axis=1)
        counts[inside] = count(engine, listed, *given)
        counts[~inside] = full[~inside]
        return counts

    return planted


def closed_on_both_sides(count: Count) -> Count:
    """A row on the edge between two bands counts in both."""

    def planted(engine: Any, counting: Counting, *given: Any) -> IntArray:
        bands = read_bands("age", "18,31,65,*").bands  # from 18 to 30, beside those from 30 on
        others = replace(counting, groups=replace(counting.groups, bands=(bands, None)))
        counts = count(engine, counting, *given)
        counts[:3] = count(engine, others, *given)[:3]
        return counts

    return planted


def chosen_by_everyone(count: Count) -> Count:
    """The choice of a person's band depends on how many rows there are."""

    def planted(engine: Any, counting: Counting, table: str, *given: Any) -> IntArray:
        ((size,),) = engine.execute(f"SELECT count(*) FROM {table}").fetchall()
        return count(engine, replace(counting, key=bytes([size % 256])), table, *given)

    return planted


def test_releases_through_the_engine_keep_the_claim() -> None:
    assert all(attacks(planned())) and all(attacks(planned(k=3)))


@pytest.mark.parametrize("fault", [rest_apart, closed_on_both_sides, chosen_by_everyone])
def test_a_planted_fault_is_caught(fault: Callable[[Count], Count], monkeypatch) -> None:
    monkeypatch.setattr(arrow_source, "count", fault(arrow_source.count))
    assert not all(attacks(planned()))


def test_a_wrong_sensitivity_is_caught_too() -> None:
    """As if somebody counted in two groups moved one cell."""
    honest = planned(k=2)
    wrong = replace(honest, tables=planned(k=1).tables)
    assert all(attacks(honest)) and not all(attacks(wrong))
