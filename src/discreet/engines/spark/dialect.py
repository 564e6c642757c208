"""The SQL dialect of Spark. Texts are guarded by patterns before they are read: Spark's own casts accept more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ...questions.expressions import INTEGERS, KINDS, LARGEST_WHOLE, READINGS
from ..base import HASH_DIGITS
from ..case_mapping import case_mapping
from ..columns import DECIMAL, TIMESTAMPTZ
from ..dialect import Dialect
from ..readings import boolean_sql, lower_case_operands, refuse_text_of_numbers

_NUMBER = r"\\A *[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)? *\\z"
_DAY = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
_MOMENT = rf"\\A *(?!0000){_DAY}([ T]{_TIME})? *\\z"

#: Days that are moments too: beyond them their microseconds are no 64-bit number.
_FIRST_DAY, _LAST_DAY = -106_751_991, 106_751_990

_SQL_TYPES = {
    "DOUBLE": "DOUBLE", "BIGINT": "BIGINT", "INTEGER": "BIGINT", "BOOLEAN": "BOOLEAN", "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP_NTZ",
}  # fmt: skip


class SparkDialect(Dialect):
    """Spark's dialect: texts by their bytes (invalid UTF-8 is U+FFFD), guarded readings, tests that no reader gets."""

    name = "spark"
    kinds: ClassVar[frozenset[str]] = frozenset({*KINDS, DECIMAL, TIMESTAMPTZ})
    direct: ClassVar[Mapping[str, frozenset[str]]] = dict.fromkeys(READINGS, kinds)

    equal_values_read_alike = True
    max_inline_texts = 100

    def place_in_list(self, text: str, listed: Sequence[str]) -> str:
        # quoted: after the bare word ARRAY, Spark's parser reads no >> in the rest of a query
        return f"(array_position(`array`({', '.join(map(self.text, listed))}), {text}) - 1)"

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + "".join(map(_escaped, value)) + "'"

    def double(self, digits: str) -> str:
        return f"CAST('{digits}' AS DOUBLE)"

    def as_text(self, expression: str, kind: str) -> str:
        refuse_text_of_numbers(expression, kind)
        if kind == "text":
            return f"make_valid_utf8({expression})"
        if kind == TIMESTAMPTZ:
            return f"concat({_text_of_moment(f'CAST({expression} AS TIMESTAMP_NTZ)')}, '+00')"
        if kind in ("date", "timestamp"):
            return _text_of_moment(expression)
        return f"CAST({expression} AS STRING)"

    def safe_cast(self, expression: str, kind: str, type_: str) -> str:
        if type_ == "VARCHAR":
            return self.as_text(expression, kind)
        if type_ in ("DATE", "TIMESTAMP"):
            return _as_moment(expression, kind, type_)
        if kind in ("date", "timestamp", TIMESTAMPTZ):
            return f"CAST(NULL AS {_SQL_TYPES[type_]})"
        if type_ == "BOOLEAN":
            return boolean_sql(expression, kind)
        return _as_double(expression, kind) if type_ == "DOUBLE" else _as_whole(expression, kind, type_)

    def whole_number(self, column: str, kind: str) -> str:
        if kind == "integer":
            return f"CAST({self.quoted(column)} AS BIGINT)"
        number = self.reading(column, "DOUBLE", kind)
        # declared numbers are below 2^53, where doubles are exact
        is_whole = f"abs({number}) <= {LARGEST_WHOLE}D AND {number} = rint({number})"
        return f"CASE WHEN {is_whole} THEN CAST({number} AS BIGINT) END"

    def iso_week(self, day: str) -> tuple[str, str]:
        return f"extract(YEAROFWEEK FROM {day})", f"weekofyear({day})"

    def bounding_hash(self, unit: str, key: bytes) -> str:
        hash_input = f"concat('{key.hex()}:', CAST({unit} AS STRING))"
        return f"CAST(conv(substr(md5({hash_input}), 1, {HASH_DIGITS}), 16, 10) AS BIGINT)"

    def row_test(self, test: str) -> str:
        # what is not a plain comparison of a column is handed to no reader of files
        return f"(bit_count(CASE WHEN {test} THEN 1 ELSE 0 END) = 1)"

    def compare(self, left: str, operator: str, right: str) -> str:
        return super().compare(*lower_case_operands(self, left, operator, right))

    def function(self, name: str, text: str) -> str:
        if name == "TRIM":
            return f"trim({text})"
        # Spark's own lower and upper make two letters of some
        letters = case_mapping(name)
        return f"translate({text}, {self.text(''.join(map(chr, letters)))}, {self.text(''.join(letters.values()))})"


SPARK = SparkDialect()


def _escaped(sign: str) -> str:
    if " " <= sign <= "~" and sign not in "'\\":
        return sign
    return f"\\u{ord(sign):04X}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08X}"


# ------------------------------------------------------------------------------------------------ readings


def _text_of_moment(x: str) -> str:
    """Write years before the first and after 9999 as other engines do."""
    time = f"substr(CAST({x} AS STRING), instr(CAST({x} AS STRING), ' '))"
    before = f"format_string('%04d-%02d-%02d (BC)', 1 - year({x}), month({x}), day({x}))"
    with_time = f"CASE WHEN instr(CAST({x} AS STRING), ' ') > 0 THEN concat({before}, {time}) ELSE {before} END"
    return f"CASE WHEN year({x}) > 0 THEN ltrim('+', CAST({x} AS STRING)) ELSE {with_time} END"


def _as_double(x: str, kind: str) -> str:
    if kind in ("integer", "number", DECIMAL):
        return f"CAST({x} AS DOUBLE)"
    if kind == "boolean":
        return f"CAST(CAST({x} AS INT) AS DOUBLE)"
    word = f"lower(trim({x}))"
    return (
        f"CASE WHEN {x} RLIKE '{_NUMBER}' THEN try_cast(trim({x}) AS DOUBLE) "
        f"WHEN {word} = 'nan' THEN CAST('NaN' AS DOUBLE) "
        f"WHEN {word} IN ('inf', 'infinity', '+inf', '+infinity') THEN CAST('Infinity' AS DOUBLE) "
        f"WHEN {word} IN ('-inf', '-infinity') THEN CAST('-Infinity' AS DOUBLE) END"
    )


def _as_whole(x: str, kind: str, type_: str) -> str:
    """Return the nearest whole number, if the type holds it; every one is a BIGINT."""
    if kind == "boolean":
        return f"CAST(CAST({x} AS INT) AS BIGINT)"
    if kind == "integer":
        whole = f"CAST({x} AS BIGINT)"
    elif kind == "number":
        largest = f"CAST('{float(2**63)!r}' AS DOUBLE)"
        whole = f"CASE WHEN {x} >= -{largest} AND {x} < {largest} THEN CAST(rint({x}) AS BIGINT) END"
    elif kind == DECIMAL:
        whole = f"try_cast(round({x}, 0) AS BIGINT)"
    else:
        number = f"try_cast(trim({x}) AS DECIMAL(38, 18))"
        whole = f"CASE WHEN {x} RLIKE '{_NUMBER}' THEN try_cast(round({number}, 0) AS BIGINT) END"
    if type_ == "BIGINT":
        return whole
    return f"CASE WHEN {whole} BETWEEN {-INTEGERS[type_]} AND {INTEGERS[type_] - 1} THEN {whole} END"


def _as_moment(x: str, kind: str, type_: str) -> str:
    sql_type = _SQL_TYPES[type_]
    if kind == TIMESTAMPTZ:
        return f"CAST(CAST({x} AS TIMESTAMP_NTZ) AS {sql_type})"
    if kind == "timestamp":
        return f"CAST({x} AS {sql_type})"
    if kind == "date":
        if type_ == "DATE":
            return x
        return f"CASE WHEN unix_date({x}) BETWEEN {_FIRST_DAY} AND {_LAST_DAY} THEN CAST({x} AS TIMESTAMP_NTZ) END"
    if kind != "text":
        return f"CAST(NULL AS {sql_type})"
    return f"CASE WHEN {x} RLIKE '{_MOMENT}' THEN CAST(try_cast(trim({x}) AS TIMESTAMP_NTZ) AS {sql_type}) END"
