"""Random public look-ups, and random questions that use them."""

from __future__ import annotations

import random

from discreet.engines.base import Counting
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.joins.lookups import PublicTable
from discreet.questions.question import read_question
from discreet.questions.resolve.bind import bind_joins
from support import awkward

#: Columns of the awkward tables that are looked up -> keys that are written like their values, and others.
KEYS: dict[str, list[str]] = {
    "site": ["0", "1", "2", "3", "9"],
    "i": ["0", "1", "2", "-1", str(2**53 - 1)],
    "i1": ["0", "1", "127", "-128"],
    "u": ["0", "1", "7"],
    "c": ["0", "2", "5"],
    "f": ["0", "50", "200", "250"],
    "g": ["a", "b", "?", "e"],
    "t": ["a", "A", "b", "?", "nan", "1x"],
    "b": ["true", "false"],
}


def public_table(content: str, name: str = "places", key: str = "k") -> PublicTable:
    """Return a look-up from the text of its file."""
    return PublicTable.read(name, key, content.encode(), f"{name}.csv")


def random_public_table(chance: random.Random, column: str) -> PublicTable:
    """A look-up of a column of the awkward tables, with a column of texts and one of numbers, some of them missing."""
    keys = chance.sample(KEYS[column], chance.randint(1, len(KEYS[column])))
    rows = [f"{key},{chance.choice(['n', 's', 'é', ''])},{chance.choice(['1', '2', '30', ''])}" for key in keys]
    return public_table("\n".join(["k,zone,size", *rows, ""]))


def random_countings(chance: random.Random, several: int, key: bytes) -> list[Counting]:
    """Questions that group by looked-up columns, have conditions on them, or recode a column by CASE."""
    return [_random_counting(chance, key) for _ in range(several)]


def _random_counting(chance: random.Random, key: bytes) -> Counting:
    if chance.random() < 0.25:
        return _random_recoding(chance, key)
    column = chance.choice(sorted(KEYS))
    public = random_public_table(chance, column)
    stored = [chance.choice(sorted(awkward._LITERALS)) for _ in range(2)]
    by = chance.choice([[], ["zone"], ["size"], ["zone", "site"], ["size", "zone"]])
    counted = ["COUNT(*)", *(["COUNT_IF(size >= 2) AS large"] if chance.random() < 0.4 else [])]
    condition = awkward.random_condition(chance, stored, 1)
    tests = chance.choice(
        [[], [condition], ["zone = 'n'"], ["zone IS NULL", condition], [f"size < 5 OR ({condition})"]]
    )
    where = f" WHERE {' AND '.join(f'({test})' for test in tests)}" if tests else ""
    grouping = f" GROUP BY {', '.join(by)}" if by else ""
    side = chance.choice(["LEFT ", "LEFT ", ""])
    sql = f"SELECT {', '.join([*by, *counted])} FROM t {side}JOIN places ON t.{column} = places.k{where}{grouping}"
    unit = chance.choice(["row", "person"])
    question = bind_joins(read_question(sql, unit=unit), {"places": public}, {})
    zones = chance.choice([["n", "s", "é"], ["n", None], ["s", ...]])
    domains = {"zone": zones, "size": chance.choice([[1, 2, 30], [2, None]]), "site": range(5)}
    groups = groups_from({name: domains[name] for name in by}, question.by) if by else TOTAL
    return Counting(question, groups, unit, chance.randint(1, 3), key)


def _random_recoding(chance: random.Random, key: bytes) -> Counting:
    sites = chance.choice(["site IN (0, 3)", "g IN ('a', '?')", "g = 'b' OR g = 'e'", "i1 IN (1, 127)"])
    column = sites.split(" ", maxsplit=1)[0]
    more = f" WHEN {column} = {chance.choice(awkward._LITERALS[column])} THEN 'more'" if column != "i1" else ""
    other = chance.choice(["", " ELSE 'other'"])
    case = f"CASE WHEN {sites} THEN 'some'{more}{other} END AS part"
    unit = chance.choice(["row", "person"])
    question = read_question(f"SELECT {case}, COUNT(*) FROM t GROUP BY part", unit=unit)
    domain = {"part": chance.choice([["some", "more", "other"], ["some", None]])}
    return Counting(question, groups_from(domain, question.by), unit, chance.randint(1, 3), key)
