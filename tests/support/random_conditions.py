"""Random conditions and what each means on every awkward value: the meaning, written a second time.

What each value of each type reads as, and three-valued logic over it.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from hypothesis import strategies as st
from sqlglot import parse_one

from discreet.questions.conditions import Condition, read_condition
from discreet.questions.expressions import READINGS


def read(text: str) -> Condition:
    # inside a question: at the start of a text a name such as "load" would be read as a statement
    return read_condition(parse_one(f"SELECT 1 WHERE {text}", read="duckdb").args["where"].this)


NAN, INF = math.nan, math.inf
FAR, LONG_AGO = (1, "far"), (-1, "long ago")  # dates that Python cannot hold


def day(text: str) -> tuple[int, date]:
    return (0, date.fromisoformat(text))


def moment(text: str) -> tuple[int, datetime]:
    return (0, datetime.fromisoformat(text))


#: kind of column -> its type in DuckDB and, for each value in SQL, what it reads as. What is not named is NULL.
TABLE: dict[str, tuple[str, str, dict[str, dict[str, Any]]]] = {
    "t": ("text", "VARCHAR", {
        "''": {}, "'abc'": {}, "'ABC'": {}, "' a '": {}, "'a%b'": {}, "'a\\'": {}, "'it''s'": {}, "'é'": {}, "'É'": {},
        "'e\u0301'": {}, "'NULL'": {}, "'1,5'": {}, "'2020-02-30'": {},
        "'1'": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "'0'": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
        "'01'": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1},
        "' 1 '": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1},
        "'1.5'": {"DOUBLE": 1.5, "BIGINT": 2, "INTEGER": 2},
        "'nan'": {"DOUBLE": NAN}, "'1e400'": {"DOUBLE": INF},
        "'inf'": {"DOUBLE": INF, "DATE": FAR, "TIMESTAMP": FAR},
        "'3000000000'": {"DOUBLE": 3e9, "BIGINT": 3000000000},
        "'9007199254740993'": {"DOUBLE": 9007199254740992.0, "BIGINT": 9007199254740993},
        "'99999999999999999999'": {"DOUBLE": 1e20},
        "'2020-02-29'": {"DATE": day("2020-02-29"), "TIMESTAMP": moment("2020-02-29")},
        "'2020-02-29 10:00:00.5'": {"DATE": day("2020-02-29"), "TIMESTAMP": moment("2020-02-29 10:00:00.500000")},
        "'10000-01-01'": {"DATE": FAR, "TIMESTAMP": FAR},
        "'true'": {"BOOLEAN": True}, "'No'": {"BOOLEAN": False},
    }),
    "folded": ("text", "VARCHAR COLLATE NOCASE", {"'a'": {}, "'A'": {}, "'abc'": {}, "'ABC'": {}, "'É'": {}}),
    "i": ("integer", "BIGINT", {
        "0": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "-1": {"DOUBLE": -1.0, "BIGINT": -1, "INTEGER": -1, "BOOLEAN": True},
        "3000000000": {"DOUBLE": 3e9, "BIGINT": 3000000000, "BOOLEAN": True},
        "9007199254740993": {"DOUBLE": 9007199254740992.0, "BIGINT": 9007199254740993, "BOOLEAN": True},
        "9223372036854775807": {"DOUBLE": 2.0**63, "BIGINT": 2**63 - 1, "BOOLEAN": True},
        "-9223372036854775808": {"DOUBLE": -(2.0**63), "BIGINT": -(2**63), "BOOLEAN": True},
    }),
    "small": ("integer", "UTINYINT", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "255": {"DOUBLE": 255.0, "BIGINT": 255, "INTEGER": 255, "BOOLEAN": True},
    }),
    "unsigned": ("integer", "UBIGINT", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "18446744073709551615": {"DOUBLE": 2.0**64, "BOOLEAN": True},
    }),
    "huge": ("integer", "HUGEINT", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "170141183460469231731687303715884105727": {"DOUBLE": 2.0**127, "BOOLEAN": True},
        "-170141183460469231731687303715884105728": {"DOUBLE": -(2.0**127), "BOOLEAN": True},
    }),
    "d": ("number", "DOUBLE", {
        "0.0": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
        "'-0.0'": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
        "1.0": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "1.5": {"DOUBLE": 1.5, "BIGINT": 2, "INTEGER": 2, "BOOLEAN": True},
        "'nan'": {"DOUBLE": NAN, "BOOLEAN": True},
        "'inf'": {"DOUBLE": INF, "BOOLEAN": True, "DATE": FAR, "TIMESTAMP": FAR},
        "'-inf'": {"DOUBLE": -INF, "BOOLEAN": True, "DATE": LONG_AGO, "TIMESTAMP": LONG_AGO},
        "1e300": {"DOUBLE": 1e300, "BOOLEAN": True, "VARCHAR": "1e+300"},
    }),
    "decimal": ("number", "DECIMAL(38,3)", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True, "VARCHAR": "1.000"},
        "99999999999999999999999999999999999.999": {"DOUBLE": 1e35, "BOOLEAN": True},
    }),
    "b": ("boolean", "BOOLEAN", {
        "true": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "false": {"DOUBLE": 0.0, "BIGINT": 0, "INTEGER": 0, "BOOLEAN": False},
    }),
    "day": ("date", "DATE", {
        "'2020-02-29'": {"DATE": day("2020-02-29"), "TIMESTAMP": moment("2020-02-29")},
        "'0001-01-01'": {"DATE": day("0001-01-01"), "TIMESTAMP": moment("0001-01-01")},
        "'infinity'": {"DATE": FAR, "TIMESTAMP": FAR, "DOUBLE": INF},
        "'5881580-07-10'": {"DATE": FAR},
        "'5877642-06-25 (BC)'": {"DATE": LONG_AGO},
    }),
    "moment": ("timestamp", "TIMESTAMP", {
        "'2020-02-29 10:00:00'": {"DATE": day("2020-02-29"), "TIMESTAMP": moment("2020-02-29 10:00:00")},
        "'infinity'": {"DATE": FAR, "TIMESTAMP": FAR, "DOUBLE": INF},
        "'294247-01-10 04:00:54.775806'": {"DATE": FAR, "TIMESTAMP": FAR},
        "'290309-12-22 (BC) 00:00:00'": {"DATE": LONG_AGO, "TIMESTAMP": LONG_AGO},
    }),
    "unsigned_huge": ("other", "UHUGEINT", {
        "1": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
        "340282366920938463463374607431768211455": {"DOUBLE": 2.0**128},
    }),
    "list": ("other", "INTEGER[]", {"[1, 2]": {"VARCHAR": "[1, 2]"}, "[]": {"VARCHAR": "[]"}}),
    "struct": ("other", "STRUCT(a INTEGER)", {"{'a': 1}": {"VARCHAR": "{'a': 1}"}}),
    "blob": ("other", "BLOB", {"'\\xAA\\x00'::BLOB": {"VARCHAR": "\\xAA\\x00"}, "''::BLOB": {"VARCHAR": ""}}),
    "interval": ("other", "INTERVAL", {"INTERVAL 1 DAY": {"VARCHAR": "1 day"}}),
    "bits": ("other", "BIT", {"'101'": {"DOUBLE": 101.0, "BIGINT": 101, "INTEGER": 101}}),
    "choice": ("other", "ENUM('abc', '1')", {
        "'abc'": {}, "'1'": {"DOUBLE": 1.0, "BIGINT": 1, "INTEGER": 1, "BOOLEAN": True},
    }),
}  # fmt: skip
KINDS = {column: kind for column, (kind, _, _) in TABLE.items()}


def _rows() -> list[dict[str, str]]:
    number = max(len(values) for _, _, values in TABLE.values()) + 1
    spelled = {c: [*values, "NULL"] for c, (_, _, values) in TABLE.items()}
    return [
        {c: options[(n + 3 * k) % len(options)] for k, (c, options) in enumerate(spelled.items())}
        for n in range(2 * number)
    ]


ROWS = _rows()
KNOWN = [
    {c: next(iter(TABLE[c][2])) if value == "NULL" else value for c, value in row.items()} for row in ROWS
]  # fmt: skip


def value_of(column: str, written: str, type_: str) -> Any:
    """What the table above says a value reads as."""
    if written == "NULL":
        return None
    readings = TABLE[column][2][written]
    if type_ == "VARCHAR" and "VARCHAR" not in readings:
        return written[1:-1].replace("''", "'") if written.startswith("'") else written
    return readings.get(type_)


COMPARE = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Wish:
    """A random condition: how it may be written, and whether it is true, false or None for a row."""

    sql: str
    holds: Any

    def __repr__(self) -> str:
        return self.sql


def key(value: Any) -> Any:
    """Doubles are in total order, with NaN on top."""
    return (1, 0.0) if isinstance(value, float) and math.isnan(value) else (0, value)


def compared(op: str, value: Any, literal: Any) -> bool | None:
    if op in ("IS DISTINCT FROM", "IS NOT DISTINCT FROM"):
        same = value is not None and key(value) == key(literal)
        return same == (op == "IS NOT DISTINCT FROM")
    return None if value is None else COMPARE[op](key(value), key(literal))


def like(pattern: str, folded: bool, value: str | None) -> bool | None:
    if value is None:
        return None
    spelled = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)
    if folded:
        spelled, value = spelled.lower(), value.lower()
    return re.fullmatch(spelled, value, re.DOTALL) is not None


TEXTS = ["", "abc", "ABC", "a", " a ", "1", "1.5", "it's", "é", "e\u0301", "NULL", "true", "[1, 2]", "2020-02-29", "b"]
LITERALS: dict[str, list[tuple[str, Any]]] = {
    "VARCHAR": [("'" + text.replace("'", "''") + "'", text) for text in TEXTS],
    "DOUBLE": [
        ("0", 0), ("1", 1), ("-1", -1), ("2", 2), ("1.5", 1.5), ("0.1", 0.1), ("9007199254740991", 2.0**53 - 1),
        ("-9007199254740991", 1 - 2.0**53), ("9007199254740992.0", 2.0**53), ("1e300", 1e300), ("3e9", 3e9),
        ("255", 255), ("300", 300), ("101", 101), ("1e20", 1e20), ("-0.0", 0), ("1.7e308", 1.7e308),
    ],
    "BIGINT": [("0", 0), ("1", 1), ("2", 2), ("-1", -1), ("9223372036854775807", 2**63 - 1), ("3000000000", 3 * 10**9)],
    "INTEGER": [("0", 0), ("1", 1), ("2", 2), ("2147483647", 2**31 - 1), ("-2147483648", -(2**31))],
    "BOOLEAN": [("TRUE", True), ("false", False)],
    "DATE": [("DATE '2020-02-29'", day("2020-02-29")), ("DATE '0001-01-01'", day("0001-01-01")),
             ("CAST('9999-12-31' AS DATE)", day("9999-12-31")), ("'2020-03-01'::date", day("2020-03-01"))],
    "TIMESTAMP": [("TIMESTAMP '2020-02-29 10:00'", moment("2020-02-29 10:00")),
                  ("timestamp '2020-02-29 10:00:00.500'", moment("2020-02-29 10:00:00.500000")),
                  ("TIMESTAMP '9999-12-31'", moment("9999-12-31"))],
}  # fmt: skip


@st.composite
def terms(draw: st.DrawFn) -> tuple[str, str | None, Any]:
    """(SQL, its type or None for a bare column, the value for a row and a type)."""
    column = draw(st.sampled_from(list(TABLE)))
    name = f'"{column}"'

    def plain(row: Any, type_: str) -> Any:
        return value_of(column, row[column], type_)

    shape = draw(st.sampled_from(["bare"] * 3 + ["text", "cast", "cast text", "default", "default cast"]))
    if shape == "bare":
        return name, None, plain
    if shape in ("text", "cast text"):
        word, change = draw(
            st.sampled_from([("LOWER", str.lower), ("upper", str.upper), ("Trim", lambda x: x.strip(" "))])
        )

        def changed(row: Any, type_: str) -> Any:
            value = plain(row, "VARCHAR")
            return None if value is None else change(value)

        return f"{word}({name})", "VARCHAR", changed
    type_ = draw(st.sampled_from(list(READINGS)))
    if shape == "cast":
        return f"try_cast({name} AS {type_})", type_, lambda row, _: plain(row, type_)
    if shape == "default cast":
        written, value = draw(st.sampled_from(LITERALS[type_]))
        return (
            f"COALESCE(TRY_CAST({name} AS {type_}), {written})", type_,
            lambda row, _: value if plain(row, type_) is None else plain(row, type_),
        )  # fmt: skip
    type_ = draw(st.sampled_from(["VARCHAR", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP"]))
    written, value = draw(st.sampled_from(LITERALS[type_]))
    return (
        f"coalesce({name}, {written})", type_,
        lambda row, _: value if plain(row, type_) is None else plain(row, type_),
    )  # fmt: skip


@st.composite
def simple(draw: st.DrawFn) -> Wish:
    sql, type_, value = draw(terms())
    form = draw(st.sampled_from(["compare"] * 4 + ["in", "null", "like", "between", "bare", "pair"]))
    if form == "null":
        word = draw(st.sampled_from(["IS NULL", "IS NOT NULL", "IS DISTINCT FROM NULL"]))
        if type_ is None:  # of the column itself: every value that is there is there
            column = sql[1:-1]
            return Wish(f"{sql} {word}", lambda row: (row[column] == "NULL") == (word == "IS NULL"))
        return Wish(f"{sql} {word}", lambda row: (value(row, type_) is None) == (word == "IS NULL"))
    if form == "pair":
        one, two = draw(st.sampled_from(list(TABLE))), draw(st.sampled_from(list(TABLE)))
        chosen, op = draw(st.sampled_from(list(READINGS))), draw(st.sampled_from(list(COMPARE)))

        def both(row: Any) -> bool | None:
            left, right = value_of(one, row[one], chosen), value_of(two, row[two], chosen)
            if FAR in (left, right) or LONG_AGO in (left, right):
                return "unknown"  # type: ignore[return-value]
            return None if left is None or right is None else COMPARE[op](key(left), key(right))

        return Wish(f'TRY_CAST("{one}" AS {chosen}) {op} TRY_CAST("{two}" AS {chosen})', both)
    if form == "bare" and type_ is None:
        return Wish(sql, lambda row: value(row, "BOOLEAN"))
    if form == "like" and type_ in (None, "VARCHAR"):
        word = draw(st.sampled_from(["LIKE", "ILIKE", "NOT LIKE", "not ilike"]))
        pattern = draw(st.sampled_from(["%", "", "a%", "_", "%B%", "abc", "AB_", "%'%", "É", "[%", "a.c"]))
        negated, folded = word.upper().startswith("NOT"), "I" in word.upper().replace("LIKE", "")
        quoted = pattern.replace("'", "''")
        return Wish(
            f"{sql} {word} '{quoted}'",
            lambda row: negate(negated, like(pattern, folded, value(row, "VARCHAR"))),
        )
    chosen = type_ or draw(st.sampled_from(["VARCHAR", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP"]))
    if form == "in":
        picked = draw(st.lists(st.sampled_from(LITERALS[chosen]), min_size=1, max_size=4))
        word = draw(st.sampled_from(["IN", "not in"]))

        def inside(row: Any) -> bool | None:
            found = value(row, chosen)
            return None if found is None else (key(found) in [key(v) for _, v in picked]) == (word == "IN")

        return Wish(f"{sql} {word} ({', '.join(written for written, _ in picked)})", inside)
    if form == "between" and chosen != "BOOLEAN":
        (low, least), (high, most) = draw(st.sampled_from(LITERALS[chosen])), draw(st.sampled_from(LITERALS[chosen]))
        return Wish(
            f"{sql} BETWEEN {low} AND {high}",
            lambda row: kleene(
                all, [compared(">=", value(row, chosen), least), compared("<=", value(row, chosen), most)]
            ),
        )
    ops = ["=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"] + (
        [] if chosen == "BOOLEAN" else ["<", "<=", ">", ">="]
    )
    op, (written, literal) = draw(st.sampled_from(ops)), draw(st.sampled_from(LITERALS[chosen]))
    return Wish(f"{sql} {op} {written}", lambda row: compared(op, value(row, chosen), literal))


def negate(really: bool, truth: Any) -> Any:
    return not truth if really and isinstance(truth, bool) else truth


def kleene(all_or_any: Any, truths: list[Any]) -> Any:
    decisive = all_or_any is any
    if decisive in truths:
        return decisive
    if "unknown" in truths:
        return "unknown"
    return None if None in truths else not decisive


def combined(inner: st.SearchStrategy[Wish]) -> st.SearchStrategy[Wish]:
    def both(word: str, parts: list[Wish]) -> Wish:
        rule = all if word.strip().upper() == "AND" else any
        return Wish(
            word.join(f"({part.sql})" for part in parts), lambda row: kleene(rule, [p.holds(row) for p in parts])
        )

    return st.one_of(
        st.builds(both, st.sampled_from([" AND ", " or ", "  OR\n"]), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda part: Wish(f"NOT ({part.sql})", lambda row: negate(True, part.holds(row))), inner),
    )


wishes = st.recursive(simple(), combined, max_leaves=6)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
