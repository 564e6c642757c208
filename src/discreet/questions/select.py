"""One SELECT, clause by clause: what it may hold, and why everything else is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import DiscreetError, InvalidInput, InWords
from ..exact.rationals import as_fraction
from ..sources.parsing import duckdb_sql, parse_sql
from ..wording import in_sql
from .band_expressions import BAND_NODES, BandExpression, no_bands, read_band_expression
from .conditions import Condition, bare, column_name, only, piece, read_condition, refusal
from .expressions import Missing, SqlTerm
from .joins.clauses import Join, TableName, read_joins, read_table_name
from .joins.lookups import Lookup
from .joins.recode import is_recoding, read_recoding
from .levels import Levels, grouped_items, read_levels

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

#: Maximum length of a question: hostile input must not keep the parser busy.
MAX_SQL_CHARACTERS = 200_000


@lru_cache(maxsize=32)
def _statements(sql: str) -> tuple[Expression, ...]:
    """Parse a text, once where its table is asked for before the rest of it; the trees are only read."""
    # a remark after the last semicolon is a statement of its own to the parser
    return tuple(one for one in parse_sql(sql, "duckdb") if type(one).__name__ != "Semicolon")


#: What a question looks like, for errors.
_EXAMPLE = "Write it like SELECT site, COUNT(*) FROM visits WHERE year = 1 GROUP BY site."


def only_statement(sql: str, what: str, example: str = _EXAMPLE, *, located: bool = True) -> Expression:
    """Parse text that holds one statement. Its own words in errors are the request's, never the data's.

    An error says at which line and column of the text it is, if ``located``.
    """
    if not isinstance(sql, str):
        raise InvalidInput.must_be(what, "a text of SQL", InWords(type(sql).__name__))
    if len(sql) > MAX_SQL_CHARACTERS:
        raise refusal(f"{what} of {len(sql)} characters is too long", f"Keep it under {MAX_SQL_CHARACTERS} characters.")
    if "\0" in sql or any(0xD800 <= ord(letter) <= 0xDFFF for letter in sql):
        raise refusal(f"{what} holds an invalid character", "Leave it out.")
    from sqlglot.errors import SqlglotError

    where: str | None = None
    try:
        statements = _statements(sql)
    except SqlglotError as error:
        first: dict[str, Any] = (getattr(error, "errors", None) or [{}])[0]
        where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
    if where is not None:
        match = re.search(r"\bFROM\s+(\w+(?:[-.]\w+)*-[-.\w]*)", sql, flags=re.IGNORECASE)
        if match:
            raise refusal(f"{match[1]} needs quotes", f"Write the table as: FROM {in_sql(match[1])}")
        raise refusal(f"{what} cannot be read as SQL{where if located else ''}", example)
    if len(statements) != 1:
        raise refusal(f"{what} is one statement; got {len(statements)}", "Ask one question at a time.")
    return statements[0]


def too_deep(what: str) -> InvalidInput:
    return refusal(f"{what} is nested too deeply to be read", "Write it with fewer parentheses, or use IN and BETWEEN.")


def not_a_question(node: Expression) -> InvalidInput:
    if type(node).__name__ in ("Union", "Intersect", "Except", "Subquery"):
        return refusal("a question is one SELECT, not several put together", "Ask each as its own question.")
    return refusal(
        "only SELECT questions can be answered",
        "Write one SELECT with counts: SELECT site, COUNT(*) FROM visits GROUP BY site.",
    )


#: The clauses of SELECT that are refused, why, and what to do instead. Those not named here are refused all the same.
_CLAUSES = {
    "laterals": ("a question is asked of one table; this one joins several", "Join them beforehand, into one table."),
    "with_": ("WITH makes a table out of a query", "Ask the question of the table itself."),
    "distinct": ("SELECT DISTINCT would hide groups of equal count", "Leave out DISTINCT."),
    "having": ("HAVING chooses groups by their true counts", "Leave it out; choose among the noisy counts afterwards."),
    "qualify": ("QUALIFY chooses rows by other rows", "Leave it out."),
    "order": ("ORDER BY has no place here: groups come in the order in which they are declared", "Leave it out."),
    "limit": ("LIMIT chooses groups by their place in the data", "Leave it out; every declared group is published."),
    "offset": ("OFFSET chooses groups by their place in the data", "Leave it out; every declared group is published."),
    "sample": ("a sample changes which rows are counted from one reading to the next", "Leave it out."),
    "windows": ("a window makes one row's value depend on other rows", "Leave it out."),
}


def judge_clauses(select: Expression) -> None:
    for clause, (why, instead) in _CLAUSES.items():
        if select.args.get(clause):
            raise refusal(why, instead)
    only(select, "expressions", "from_", "joins", "where", "group")


def table_of(select: Expression) -> TableName:
    """Return the table that is counted."""
    source = select.args.get("from_")
    if source is None:
        raise refusal("the question names no table", "Add FROM and the table's name.")
    only(source, "this")
    return read_table_name(source.this)


def joins_of(select: Expression, first: TableName) -> tuple[tuple[Join, ...], frozenset[str]]:
    """Return the joins of a question, and the names that may qualify its columns (in lower case)."""
    joins, tables = read_joins(select.args.get("joins") or (), first)
    return joins, frozenset(table.alias.lower() for table in tables)


def read_where(text: str) -> str:
    """Return a condition that was given apart from its question, as SQL without remarks; refuse anything else.

    It is read by itself, so that it can neither end the question early nor add clauses to it.

    >>> read_where("year = 1 AND health = 'poor' -- those who are ill")
    "health = 'poor' AND year = 1"
    >>> read_where("year = 1) OR (year = 2")
    Traceback (most recent call last):
    discreet.errors.InvalidInput: where is not one condition. Write it like where="year = 1 AND health = 'poor'".
    """
    example = "Write it like where=\"year = 1 AND health = 'poor'\"."
    if not isinstance(text, str):
        raise InvalidInput.must_be("where", "a condition as SQL text", InWords(type(text).__name__))
    select = only_statement(f"SELECT COUNT(*) FROM t WHERE ({text}\n)", "where", example, located=False)
    where = select.args.get("where")
    clauses = {name for name, value in select.args.items() if value} - {"expressions", "from_", "where", "kind"}
    if type(select).__name__ != "Select" or clauses or where is None or type(where.this).__name__ != "Paren":
        raise InvalidInput("where is not one condition.", example, argument="where")
    condition = read_condition(where.this)
    return text if not set("-/#") & set(text) else condition.text


def where_of(select: Expression, names: frozenset[str]) -> Condition | None:
    where = select.args.get("where")
    if where is None:
        return None
    only(where, "this")
    return read_condition(where.this, names)


def group_columns(
    select: Expression, names: frozenset[str], named: Mapping[str, BandExpression | Lookup]
) -> tuple[tuple[str, ...], tuple[BandExpression | None, ...]]:
    """Return the columns of GROUP BY, and for each the bands written there, or selected under a name that stands
    there. ``named`` has the bands and recodings that are selected under a name, by that name in one case."""
    group = select.args.get("group")
    if group is None:
        return (), ()
    if group.args.get("all"):
        raise refusal("GROUP BY ALL names no columns", "Name the columns.")
    if any(group.args.get(part) for part in ("totals", "rollup", "cube", "grouping_sets")):
        raise refusal("WITH ROLLUP and WITH TOTALS are not accepted", "Write GROUP BY ROLLUP (region, county).")
    only(group, "expressions")
    by: list[str] = []
    bands: list[BandExpression | None] = []
    for item in grouped_items(group):
        column, band = _grouped_column(item, names, named)
        by.append(column)
        bands.append(band)
    if len({column.casefold() for column in by}) < len(by):
        raise refusal("GROUP BY names a column twice", "Name each column once.")
    return tuple(by), tuple(bands)


def _grouped_column(
    item: Expression, names: frozenset[str], named: Mapping[str, BandExpression | Lookup]
) -> tuple[str, BandExpression | None]:
    """Return a column of GROUP BY, and its bands if it has some."""
    if type(item).__name__ == "Literal":
        raise refusal(f"GROUP BY {piece(item)} is not by a column", "Name the columns, or add a column to the table.")
    if type(item).__name__ in BAND_NODES:
        expression = read_expression(item, names, named)
    elif type(item).__name__ == "Column":
        column = column_name(item, names)
        if (by_name := named.get(column.casefold())) is None:
            return column, None
        expression = by_name
    else:
        raise no_bands(item)
    return (expression.name, None) if isinstance(expression, Lookup) else (expression.column, expression)


def read_expression(
    item: Expression, names: frozenset[str], named: Mapping[str, BandExpression | Lookup]
) -> BandExpression | Lookup:
    """Return bands, or the recoding among those that are named that is written the same."""
    try:
        return read_band_expression(item, names)
    except InvalidInput:
        if not is_recoding(item, names):
            raise
    recoding = read_recoding(item, "", names)
    for other in named.values():
        if isinstance(other, Lookup) and other.case_text == recoding.case_text:
            return other
    raise refusal(
        f"{piece(item)} has no name",
        "Name it where it is selected, and group by the name: SELECT CASE ... END AS region ... GROUP BY region.",
    )


def read_named_expression(item: Expression, alias: str, names: frozenset[str]) -> BandExpression | Lookup:
    """Return the bands, or the recoding, that are selected under a name."""
    try:
        return read_band_expression(item, names)
    except InvalidInput:
        if not is_recoding(item, names):
            raise
    return read_recoding(item, alias, names)


def levels_of(
    select: Expression, names: frozenset[str], by: Sequence[str], named: Mapping[str, BandExpression | Lookup]
) -> Levels:
    """Return the levels of ROLLUP, CUBE or GROUPING SETS, by the numbers of the columns; none without them."""
    keys = [column.casefold() for column in by]
    return read_levels(
        select.args.get("group"), lambda item: keys.index(_grouped_column(item, names, named)[0].casefold())
    )


def count_condition(item: Expression, names: frozenset[str], unit: str) -> Condition | None:
    """Return the condition under which a row counts in a selected item; None for every row."""
    name = type(item).__name__
    if name == "Filter":
        only(item, "this", "expression")
        only(item.expression, "this")
        condition = read_condition(item.expression.this, names)
        inner = count_condition(item.this, names, unit)
        return condition if inner is None else inner.also(condition)
    if name == "CountIf":
        only(item, "this")
        return read_condition(item.this, names)
    if name == "Count":
        return _plain_count(item, names, unit)
    if name == "Sum":
        only(item, "this")
        inside = bare(item.this)
        if type(inside).__name__ in ("Case", "If"):
            return _case(inside, names, zero=True)
        if type(inside).__name__ in _TESTS:
            return read_condition(inside, names)
        raise refusal(
            f"{piece(item)} adds up a column, and one person's value (such as a survey weight) has no public bound, "
            "so no noise could hide it",
            "Count instead: COUNT(*), or COUNT_IF(condition); a column of yes and no is COUNT_IF(column).",
        )
    if name == "Star" or (name == "Column" and type(item.this).__name__ == "Star"):
        raise refusal("* selects people's rows", "Select the group columns and COUNT(*).")
    if name == "Window":
        raise refusal("a window makes one row's value depend on other rows", "Leave out OVER, and use GROUP BY.")
    if name in ("Avg", "Min", "Max", "Stddev", "Variance"):
        raise refusal(
            f"{piece(item)} is not a count, and one person's value has no public bound",
            "Ask for the median, MEDIAN(age), of a column with declared bands or whole numbers, or count ranges of it: "
            "COUNT_IF(age BETWEEN 0 AND 17).",
        )
    raise refusal(
        f"{piece(item)} is not a count",
        "Select group columns, COUNT(*), COUNT(DISTINCT unit), COUNT_IF or SUM(condition).",
    )


def counts_distinct(item: Expression) -> bool:
    """Return True for COUNT(DISTINCT ...), with a FILTER or without."""
    if type(item).__name__ == "Filter":
        return counts_distinct(item.this)
    return type(item).__name__ == "Count" and item.this is not None and type(bare(item.this)).__name__ == "Distinct"


#: Nodes that are conditions, so that their SUM is a count.
_TESTS = frozenset(
    {"EQ", "NEQ", "LT", "LTE", "GT", "GTE", "NullSafeEQ", "NullSafeNEQ", "Like", "ILike", "Between", "In", "Is",
     "And", "Or", "Not"}
)  # fmt: skip


def _plain_count(item: Expression, names: frozenset[str], unit: str) -> Condition | None:
    only(item, "this", "big_int")
    inside = None if item.this is None else bare(item.this)
    name = type(inside).__name__
    if inside is None:
        return None
    if name == "Star":
        only(inside)
        return None
    if name == "Literal" and not inside.args.get("is_string") and inside.this == "1":
        return None
    if name == "Distinct":
        only(inside, "expressions")
        columns = inside.expressions
        people = len(columns) == 1 and type(columns[0]).__name__ == "Column" and unit != "row"
        if people and column_name(columns[0], names).casefold() == unit.casefold():
            return None  # at most one row of a person is kept in a group, so people and rows are one count
        raise refusal(
            f"{piece(item)} counts distinct values of something other than the privacy unit",
            "Write COUNT(*), or COUNT(DISTINCT unit) with the column given as the unit.",
        )
    if name == "Column" and type(inside.this).__name__ != "Star":
        return Condition(Missing(SqlTerm("", column_name(inside, names)), missing=False))
    if name in ("Case", "If"):
        return _case(inside, names, zero=False)
    raise refusal(
        f"{piece(item)}counts the rows where the condition is known, not where it is true",
        "Write COUNT(*), COUNT(column), or COUNT_IF(condition).",
    )


def _case(node: Expression, names: frozenset[str], zero: bool) -> Condition:
    """Read CASE WHEN condition THEN 1 [ELSE 0] END; in COUNT, where 0 would count as well, without ELSE."""
    form = "SUM(CASE WHEN condition THEN 1 ELSE 0 END)" if zero else "COUNT(CASE WHEN condition THEN 1 END)"
    if type(node).__name__ == "Case":
        only(node, "ifs", "default")
        branches, other = node.args["ifs"], node.args.get("default")
    else:
        only(node, "this", "true", "false")
        branches, other = [node], node.args.get("false")
    if len(branches) == 1:
        branch = branches[0]
        only(branch, "this", "true", *(["false"] if branch is node else []))
        one, rest = branch.args.get("true"), "NULL" if other is None else duckdb_sql(other)
        if one is not None and duckdb_sql(one) == "1" and rest in ({"0", "NULL"} if zero else {"NULL"}):
            return read_condition(branch.this, names)
    raise refusal(
        f"{piece(node)} does not add 1 for each row that meets a condition", f"Write {form}, or COUNT_IF(condition)."
    )


#: The nodes of SQL's quantiles.
_QUANTILE_NODES = ("Median", "Quantile", "PercentileCont", "PercentileDisc", "WithinGroup")

_ACCEPTED_QUANTILES = "Write MEDIAN(age), or QUANTILE_CONT(age, 0.25) with a share between 0 and 1."


def is_quantile(item: Expression) -> bool:
    """Return True if a selected item is a quantile."""
    return type(item).__name__ in _QUANTILE_NODES


def read_quantile_expression(item: Expression, names: frozenset[str]) -> tuple[str, Fraction]:
    """Read MEDIAN, QUANTILE_CONT or PERCENTILE_CONT ... WITHIN GROUP; QUANTILE, QUANTILE_DISC and the like too."""
    name, node = type(item).__name__, item
    share: Expression | None = None
    if name == "WithinGroup":
        only(item, "this", "expression")
        node, order = item.this, item.expression
        if type(node).__name__ not in ("PercentileCont", "PercentileDisc") or len(order.expressions) != 1:
            raise refusal(f"{piece(item)} is not a quantile of one column", _ACCEPTED_QUANTILES)
        only(node, "this")
        only(order.expressions[0], "this", "nulls_first")
        share, column = node.this, order.expressions[0].this
    elif name == "Median":
        only(item, "this")
        column = item.this
    else:
        only(item, "this", "expression", "quantile")
        share, column = item.args.get("quantile") or item.args.get("expression"), item.this
        if share is None:
            raise refusal(f"{piece(item)} has no share", _ACCEPTED_QUANTILES)
    if type(column).__name__ != "Column" or type(column.this).__name__ == "Star":
        raise refusal(f"{piece(item)} is not a quantile of one column", _ACCEPTED_QUANTILES)
    if share is None:
        return column_name(column, names), Fraction(1, 2)
    try:
        value = as_fraction(duckdb_sql(share))
    except DiscreetError:
        value = Fraction(0)
    if not 0 < value < 1:
        raise refusal(f"{piece(item)} has no share between 0 and 1", _ACCEPTED_QUANTILES)
    return column_name(column, names), value
