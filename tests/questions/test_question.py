"""Questions: what may be asked, what is refused and why, and that equal questions have equal texts."""

from __future__ import annotations

import contextlib
import logging
import re

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.duckdb import DuckDB

from discreet.errors import InvalidInput
from discreet.questions.expressions import name_text
from discreet.questions.question import Question, find_column, read_question
from discreet.questions.resolve.views import expand_view, read_view
from support.grids import every_case
from support.refusals import refused


def read(sql: str, unit: str = "person") -> Question:
    return read_question(sql, unit=unit)


def test_the_example_of_the_documentation():
    question = read("SELECT site, health, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY site, health")
    assert question.table == "doctor_visits" and question.by == ("site", "health")
    assert [count.name for count in question.aggregates] == ["count"] and question.aggregates[0].condition is None
    assert question.columns == {"site", "health", "year"} and question.most_at_once == 1
    assert question.text == "SELECT site, health, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY site, health"


SAME = [
    "SELECT site, COUNT(*) FROM visits WHERE year = 1 GROUP BY site",
    "select site,count(*) from visits where year=1 group by site",
    "SELECT COUNT(*), site FROM visits WHERE (year = 1) GROUP BY (site);",
    'SELECT "site", COUNT(1) AS count FROM "visits" AS v WHERE v.year = 1.0 GROUP BY v.site',
    "SELECT visits.site, COUNT(DISTINCT person) FROM visits WHERE 1 = visits.year GROUP BY visits.site",
    "FROM visits SELECT site, COUNT() WHERE NOT (year <> 1) GROUP BY site -- a remark",
    "SELECT site, COUNT(*) FROM visits WHERE year = 1 GROUP BY site; -- a remark",
    "SELECT site AS site, COUNT(DISTINCT Person) FROM visits WHERE year IN (1, 1) GROUP BY site",
]


@every_case("sql", SAME)
def test_the_same_question_written_otherwise_has_the_same_text(sql):
    assert read(sql) == read(SAME[0]) and read(sql).text == SAME[0]


@pytest.mark.parametrize(
    ("written", "table", "text"),
    [
        ("Public.visits", "Public.visits", "Public.visits"),
        ('"public"."my visits"', "public.my visits", 'public."my visits"'), ('s."a.b"', "s.a.b", 's."a.b"'),
    ],
)  # fmt: skip
def test_a_table_may_be_named_behind_its_schema(written, table, text):
    question = read(f"SELECT COUNT(*) FROM {written} WHERE year = 1")
    assert (question.table, question.qualified) == (table, True)
    assert question.text == f"SELECT COUNT(*) FROM {text} WHERE year = 1" and read(question.text) == question
    assert question.bind(["year"], table).qualified and not read('SELECT COUNT(*) FROM "s.t"').qualified
    with refused(InvalidInput, token='"a.b"'):
        read('SELECT COUNT(*) FROM "a.b".t')


def test_parts_of_a_condition_in_another_order_are_the_same_question():
    one = read("SELECT COUNT(*), COUNT_IF(a = 1 OR b = 2) FROM t WHERE Year = 1 AND health = 'poor'")
    other = read("SELECT COUNT(*), COUNT_IF(b = 2 OR a = 1) FROM t WHERE health = 'poor' AND Year = 1")
    assert one == other and one.text == other.text
    columns = ["a", "b", "year", "health"]  # spelled otherwise, the parts sort otherwise
    assert one.bind(columns).text == read(one.bind(columns).text).text == other.bind(columns).text


COUNTS = {
    "COUNT(*)": None,
    "COUNT(1)": None,
    "COUNT(x)": "x IS NOT NULL",
    "COUNT_IF(x = 1)": "x = 1",
    "COUNTIF(x)": "x = TRUE",
    "SUM(x = 1)": "x = 1",
    "SUM((x > 1 OR y))": "x > 1 OR y = TRUE",
    "SUM(CASE WHEN x = 1 THEN 1 ELSE 0 END)": "x = 1",
    "SUM(CASE WHEN x = 1 THEN 1 END)": "x = 1",
    "SUM(IF(x = 1, 1, 0))": "x = 1",
    "COUNT(CASE WHEN x = 1 THEN 1 END)": "x = 1",
    "COUNT(CASE WHEN x = 1 THEN 1 ELSE NULL END)": "x = 1",
    "COUNT(*) FILTER (WHERE x = 1)": "x = 1",
    "COUNT_IF(x = 1) FILTER (WHERE y = 2)": "x = 1 AND y = 2",
    "COUNT(DISTINCT person) FILTER (WHERE x = 1)": "x = 1",
    "COUNT(y) FILTER (x = 1)": "x = 1 AND y IS NOT NULL",
}


@every_case(("written", "condition"), COUNTS.items())
def test_every_way_to_count(written, condition):
    (count,) = read(f"SELECT {written} FROM t").aggregates
    assert (count.condition and count.condition.text) == condition
    assert count.name == ("count" if condition is None else "count_if")


def test_headings_are_the_aliases_or_readable_and_unique():
    question = read("SELECT COUNT(*), COUNT_IF(a), COUNT_IF(b) AS bs, COUNT(*) FROM t")
    assert [count.name for count in question.aggregates] == ["count", "count_if_2", "bs", "count_4"]
    assert read(question.text) == question
    with refused(InvalidInput, token="name 'n'"):
        read("SELECT COUNT(*) AS n, COUNT_IF(a) AS N FROM t")
    with refused(InvalidInput, token="name 'count'"):
        read("SELECT count, COUNT(*) FROM t GROUP BY count")


@every_case(
    ("counts", "most"),
    [
        ("COUNT_IF(h = 'good'), COUNT_IF(h = 'poor')", 1),
        ("COUNT(*), COUNT_IF(x = 1)", 2),
        ("COUNT(*)", 1),
        ("COUNT_IF(x = 1 AND x = 2)", 1),  # nothing counts, yet never less than one
        ("SUM(x < 5), SUM(x >= 5), COUNT(x)", 2),
        ("COUNT(*) FILTER (WHERE x = 1), COUNT(*) FILTER (WHERE x = 2), COUNT(*) FILTER (WHERE x = 3)", 1),
    ],
)
def test_the_most_counts_one_row_is_part_of(counts, most):
    assert read(f"SELECT {counts} FROM t").most_at_once == most


def test_where_can_make_conditions_exclusive():
    assert read("SELECT COUNT_IF(x > 1), COUNT_IF(x < 9) FROM t WHERE x > 8.5").most_at_once == 2
    assert read("SELECT COUNT_IF(x > 1), COUNT_IF(x < 9) FROM t WHERE x > 9").most_at_once == 1


REFUSED = {
    "SELECT COUNT(*) FROM a, b": "without a condition",
    "SELECT COUNT(*) FROM a CROSS JOIN b": "CROSS JOIN",
    "SELECT COUNT(*) FROM (a JOIN b USING (x))": "subquery",
    "SELECT COUNT(*) FROM a POSITIONAL JOIN b": "POSITIONAL JOIN",
    "SELECT COUNT(*) FROM a, LATERAL (SELECT 1)": "table's name",
    "SELECT COUNT(*) FROM (SELECT * FROM t)": "subquery",
    "SELECT COUNT(*) FROM (VALUES (1))": "not a table",
    "SELECT COUNT(*) FROM VALUES (1)": "not a table",
    "SELECT COUNT(*) FROM LATERAL (SELECT 1)": "not a table",
    "SELECT COUNT(*) FROM read_csv('x.csv')": "not a table",
    "SELECT COUNT(*) FROM read_text('/etc/passwd')": "not a table",
    "SELECT COUNT(*) FROM range(10)": "not a table",
    "SELECT COUNT(*) FROM c.s.t": "schema",
    "SELECT COUNT(*) FROM t AS u(a, b)": "not accepted",
    "SELECT COUNT(*) FROM t TABLESAMPLE 10%": "sample",
    "SELECT COUNT(*) FROM t USING SAMPLE 10": "sample",
    "SELECT COUNT(*) FROM t AT (VERSION => 1)": "not accepted",
    "SELECT COUNT(*) FROM ONLY t": "not accepted",
    "SELECT COUNT(*) FROM t PIVOT (SUM(x) FOR y IN (1))": "not accepted",
    "WITH a AS (SELECT 1) SELECT COUNT(*) FROM a": "WITH",
    "SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM u": "several",
    "SELECT COUNT(*) FROM t INTERSECT SELECT 1": "several",
    "(SELECT COUNT(*) FROM t)": "several",
    "SELECT DISTINCT COUNT(*) FROM t": "DISTINCT",
    "SELECT DISTINCT ON (x) COUNT(*) FROM t": "DISTINCT",
    "SELECT COUNT(*) FROM t HAVING COUNT(*) > 5": "HAVING",
    "SELECT COUNT(*) FROM t ORDER BY 1": "ORDER BY",
    "SELECT COUNT(*) FROM t LIMIT 1": "LIMIT",
    "SELECT COUNT(*) FROM t LIMIT 10%": "LIMIT",
    "SELECT COUNT(*) FROM t OFFSET 1": "OFFSET",
    "SELECT COUNT(*) FROM t QUALIFY TRUE": "QUALIFY",
    "SELECT COUNT(*) FROM t WINDOW w AS ()": "window",
    "SELECT COUNT(*) FROM t FOR UPDATE": "not accepted",
    "SELECT COUNT(*) INTO u FROM t": "not accepted",
    "SELECT COUNT(*) OVER () FROM t": "window",
    "SELECT COUNT(*) FROM t GROUP BY ALL": "Name the columns",
    "SELECT COUNT(*) FROM t GROUP BY 1": "by a column",
    "SELECT COUNT(*) FROM t GROUP BY x + 1": "by a column",
    "SELECT COUNT(*) FROM t GROUP BY (x, y)": "by a column",
    "SELECT COUNT(*) FROM t GROUP BY ()": "by a column",
    "SELECT COUNT(*) FROM t GROUP BY x COLLATE NOCASE": "by a column",
    "SELECT x, COUNT(*) FROM t GROUP BY x WITH TOTALS": "ROLLUP",
    "SELECT x, COUNT(*) FROM t GROUP BY x, x": "twice",
    "SELECT x, x, COUNT(*) FROM t GROUP BY x": "twice",
    "SELECT x, COUNT(*) FROM t": "not grouped",
    "SELECT COUNT(*) FROM t GROUP BY x": "not selected",
    "SELECT x AS y, COUNT(*) FROM t GROUP BY x": "is renamed to",
    "SELECT x FROM t GROUP BY x": "counts nothing",
    "SELECT * FROM t": "people's rows",
    "SELECT t.* FROM t": "people's rows",
    "SELECT * EXCLUDE (x) FROM t": "people's rows",
    "SELECT COUNT(t.*) FROM t": "COUNT(*)",
    "SELECT COUNT(* EXCLUDE (x)) FROM t": "not accepted",
    "SELECT COUNT(COLUMNS(*)) FROM t": "COUNT(*)",
    "SELECT COUNT(DISTINCT x) FROM t": "privacy unit",
    "SELECT COUNT(DISTINCT x, y) FROM t": "privacy unit",
    "SELECT COUNT(DISTINCT person, y) FROM t": "privacy unit",
    "SELECT COUNT(x = 1) FROM t": "COUNT_IF",
    "SELECT COUNT('a') FROM t": "COUNT_IF",
    "SELECT COUNT(NULL) FROM t": "COUNT_IF",
    "SELECT COUNT(x, y) FROM t": "not accepted",
    "SELECT COUNT(x ORDER BY y) FROM t": "COUNT_IF",
    "SELECT COUNT(CASE WHEN x = 1 THEN 1 ELSE 0 END) FROM t": "add 1",
    "SELECT SUM(CASE WHEN x = 1 THEN 2 END) FROM t": "add 1",
    "SELECT SUM(CASE WHEN x = 1 THEN 1 ELSE -1 END) FROM t": "add 1",
    "SELECT SUM(CASE WHEN x = 1 THEN 1 WHEN y = 1 THEN 1 END) FROM t": "add 1",
    "SELECT SUM(CASE x WHEN 1 THEN 1 END) FROM t": "not accepted",
    "SELECT SUM(CASE WHEN x = 1 THEN weight END) FROM t": "add 1",
    "SELECT SUM(weight) FROM t": "survey weight",
    "SELECT SUM((weight)) FROM t": "survey weight",
    "SELECT SUM(DISTINCT x) FROM t": "no public bound",
    "SELECT SUM(1) FROM t": "no public bound",
    "SELECT SUM(x * (y = 1)) FROM t": "no public bound",
    "SELECT AVG(x) FROM t": "no public bound",
    "SELECT MIN(x), COUNT(*) FROM t": "no public bound",
    "SELECT MAX(x), COUNT(*) FROM t": "no public bound",
    "SELECT COUNT(*) + 1 FROM t": "not a count",
    "SELECT COUNT(*) / 2 FROM t": "not a count",
    "SELECT CAST(COUNT(*) AS DOUBLE) FROM t": "not a count",
    "SELECT random() FROM t": "not a count",
    "SELECT 'a', COUNT(*) FROM t": "not a count",
    "SELECT list(x) FROM t": "not a count",
    "SELECT APPROX_COUNT_DISTINCT(x) FROM t": "not a count",
    "SELECT COUNT(*) FILTER (WHERE x / 0 = 1) FROM t": "division",
    "SELECT COUNT(*)": "no table",
    "SELECT COUNT(*) FROM t WHERE other.x = 1": "question",
    "SELECT COUNT(*) FROM t AS u WHERE t.x = 1": "question",
    "SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM u": "one statement",
    "SELECT COUNT(*) FROM t; DROP TABLE t": "one statement",
    "": "one statement",
    "-- nothing": "one statement",
    "DROP TABLE t": "only SELECT questions",
    "DELETE FROM t": "only SELECT questions",
    "INSERT INTO t VALUES (1)": "only SELECT questions",
    "UPDATE t SET x = 1": "only SELECT questions",
    "CREATE TABLE u AS SELECT COUNT(*) FROM t": "only SELECT questions",
    "COPY t TO 'x.csv'": "only SELECT questions",
    "ATTACH 'x.db'": "only SELECT questions",
    "PRAGMA database_list": "only SELECT questions",
    "SET memory_limit = '1GB'": "only SELECT questions",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM t": "only SELECT questions",
    "DESCRIBE t": "only SELECT questions",
    "SUMMARIZE t": "only SELECT questions",
    "SELECT COUNT(*) FROM": "read as SQL",
    "hello there": "only SELECT questions",
    "SELECT 'a": "read as SQL",
    "SELECT COUNT(*) FROM t\0": "character",
    "SELECT COUNT(*) FROM t WHERE x = '\ud800'": "character",
    'SELECT COUNT(*) FROM ""': "empty name",
}


@every_case(("sql", "reason"), REFUSED.items())
def test_what_cannot_be_protected_is_refused_with_the_reason(sql, reason, caplog):
    caplog.set_level(logging.CRITICAL, logger="sqlglot")
    with refused(InvalidInput, token=reason) as caught:
        read(sql)
    assert caught.value.__context__ is None


def test_counting_people_needs_people():
    with refused(InvalidInput, token="privacy unit"):
        read("SELECT COUNT(DISTINCT person) FROM t", unit="row")
    with refused(InvalidInput, token="privacy unit"):
        read("SELECT COUNT(DISTINCT row) FROM t", unit="row")


HOSTILE = {
    "parentheses": "SELECT COUNT(*) FROM t WHERE " + "(" * 5000 + "x = 1" + ")" * 5000,
    "open": "SELECT COUNT(*) FROM t WHERE " + "(" * 5000,
    "not": "SELECT COUNT(*) FROM t WHERE " + "NOT " * 5000 + "x",
    "functions": "SELECT COUNT(*) FROM t WHERE " + "LOWER(" * 500 + "x" + ")" * 500 + " = 'a'",
    "minus": "SELECT COUNT(*) FROM t WHERE x = " + "- " * 5000 + "1",
    "dots": "SELECT COUNT(*) FROM t WHERE " + "a." * 5000 + "b = 1",
    "casts": "SELECT COUNT(*) FROM t WHERE x" + "::INTEGER" * 3000 + " = 1",
    "types": "SELECT COUNT(*) FROM t WHERE TRY_CAST(x AS INTEGER" + "[]" * 3000 + ") = 1",
    "case": "SELECT COUNT(*) FROM t WHERE " + "CASE WHEN " * 300 + "x" + " THEN 1 END" * 300,
    "subqueries": "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 300 + "t" + ")" * 300,
    "long": "SELECT COUNT(*) FROM t WHERE x = '" + "a" * 300_000 + "'",
    "counts": "SELECT " + ", ".join("COUNT(*)" for _ in range(2000)) + " FROM t",
    "digits": "SELECT COUNT(*) FROM t WHERE x = " + "9" * 10_000,
    "braces": "SELECT COUNT(*) FROM t WHERE " + "{" * 1000,
    "joins": "SELECT COUNT(*) FROM t" + " JOIN t" * 2000,
}


@every_case("sql", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_refused_and_nothing_breaks(sql):
    with pytest.raises(InvalidInput):
        read(sql)


def test_long_honest_questions_are_read():
    many = read("SELECT COUNT(*) FROM t WHERE x IN (" + ", ".join(map(str, range(5000))) + ")")
    assert many.text.endswith("4998, 4999)")
    chain = read("SELECT COUNT(*) FROM t WHERE " + " OR ".join(f"x = {k}" for k in range(2000)))
    assert read(chain.text) == chain
    counts = read("SELECT " + ", ".join(f"COUNT_IF(x = {k}) AS c{k}" for k in range(300)) + " FROM t")
    assert counts.most_at_once == 1


@given(st.text(max_size=60))
def test_any_text_is_a_question_or_refused(text):
    with contextlib.suppress(InvalidInput):
        read(f"SELECT COUNT(*) FROM t WHERE {text}")


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


@given(table=names, column=names, other=names, alias=names)
def test_any_name_is_read_written_and_read_again(table, column, other, alias):
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    sql = (
        f"SELECT {quoted(column)}, COUNT_IF({quoted(other)} = 'a') AS {quoted(alias)} FROM {quoted(table)} "
        f"WHERE {quoted(other)} IS NOT NULL GROUP BY {quoted(column)}"
    )
    if column.casefold() == alias.casefold():
        return
    question = read(sql)
    assert (question.table, question.by, question.aggregates[0].name) == (table, (column,), alias)
    assert question.columns == {column, other}
    assert read(question.text) == question


def test_no_word_of_sql_is_misread_as_a_name_in_the_normalised_text(caplog):
    """Every keyword and function name of the parser and of DuckDB, as a column, a table and a heading."""
    caplog.set_level(logging.CRITICAL, logger="sqlglot")
    words = {str(word) for word in (*DuckDB.Tokenizer.KEYWORDS, *DuckDB.Parser.NO_PAREN_FUNCTION_PARSERS)}
    words |= {token.name for token in sqlglot.TokenType}
    words |= {row[0] for row in duckdb.sql("SELECT keyword_name FROM duckdb_keywords()").fetchall()}
    plain = {word for text in words for word in re.findall("[A-Za-z_][A-Za-z0-9_]*", text)}
    assert len(plain) > 500
    for word in sorted(plain - {"x", "X"}):
        name = f'"{word}"'
        for sql in (
            f"SELECT {name}, COUNT_IF({name} = 1 OR x = 1 AND {name} NOT IN ('a', 'b')) AS n FROM t "
            f"WHERE LOWER({name}) LIKE 'a' GROUP BY {name}",
            f"SELECT COUNT_IF({name}) AS {name} FROM {name} WHERE {name} IS NULL",
        ):
            question = read(sql)
            assert read(question.text) == question, word
    assert name_text("year") == "year" and name_text("Select") == '"Select"'


def test_names_are_bound_to_the_table_exactly_or_ignoring_case():
    question = read("SELECT SITE, COUNT_IF(Age > 1) FROM t WHERE year = 1 GROUP BY site")
    bound = question.bind(["Site", "age", "YEAR", "other"], table="T")
    assert bound.text == "SELECT Site, COUNT_IF(age > 1) FROM T WHERE YEAR = 1 GROUP BY Site"
    assert bound.bind(["Site", "age", "YEAR", "other"]) == bound
    with refused(InvalidInput, token="column 'year' ... site, age"):
        question.bind(["site", "age"])
    with refused(InvalidInput, token="could be any"):
        question.bind(["Site", "sItE", "age", "year"])
    assert find_column("a", ["A", "a"]) == "a"
    with refused(InvalidInput, token="twice"):
        read('SELECT "A", a, COUNT(*) FROM t GROUP BY "A", a')


def test_a_view_of_plain_columns_is_expanded_and_judged():
    question = read("SELECT place, COUNT_IF(age > 64) AS old FROM seniors WHERE sex = 'f' GROUP BY place")
    view = "CREATE VIEW seniors AS SELECT town AS place, age, gender AS sex FROM people AS p WHERE (p.age >= 60);"
    expanded = expand_view(question, view)
    assert expanded.text == (
        "SELECT town, COUNT_IF(age > 64) AS old FROM people WHERE age >= 60 AND gender = 'f' GROUP BY town"
    )
    everything = expand_view(question, "CREATE OR REPLACE VIEW seniors AS SELECT * FROM people")
    assert everything.text == question.text.replace("seniors", "people")
    named = expand_view(question, "CREATE VIEW seniors (place, age, sex) AS SELECT a, b, c FROM people")
    assert named.by == ("a",) and named.columns == {"a", "b", "c"}
    assert read_view(view).column("PLACE") == "town"
    with refused(InvalidInput, token="column 'person'"):
        read_view(view).column("person")
    with refused(InvalidInput, token="twice"):
        expand_view(read("SELECT a, b, COUNT(*) FROM v GROUP BY a, b"), "CREATE VIEW v AS SELECT x AS a, x AS b FROM t")


@every_case(
    "definition",
    [
        "SELECT a + 1 AS b FROM t", "SELECT a, COUNT(*) AS n FROM t GROUP BY a", "SELECT DISTINCT a FROM t",
        "SELECT a FROM t, u", "SELECT a FROM t JOIN u USING (x)", "SELECT a FROM (SELECT * FROM t)",
        "SELECT a FROM t UNION SELECT a FROM u", "SELECT a FROM t LIMIT 5", "SELECT a FROM t ORDER BY a",
        "SELECT * EXCLUDE (a) FROM t", "SELECT * REPLACE (1 AS a) FROM t", "SELECT *, a AS b FROM t",
        "SELECT a, A FROM t", "SELECT random() AS a FROM t", "SELECT a FROM t WHERE b / c = 1", "VALUES (1)",
        "SELECT a FROM t TABLESAMPLE 10%", "WITH u AS (SELECT 1) SELECT a FROM u", "SELECT a FROM read_csv('x.csv')",
        "SELECT row_number() OVER () AS a FROM t", "SELECT (SELECT 1) AS a FROM t", "SELECT a FROM t QUALIFY TRUE",
    ],
)  # fmt: skip
def test_other_views_are_refused(definition):
    question = read("SELECT a, COUNT(*) FROM v GROUP BY a")
    for sql in (definition, f"CREATE VIEW v AS {definition}"):
        with pytest.raises(InvalidInput):
            expand_view(question, sql)


def test_views_as_duckdb_writes_them_are_read():
    engine = duckdb.connect()
    engine.execute("CREATE TABLE people (person INTEGER, town VARCHAR, age INTEGER)")
    where = (
        "town NOT LIKE 'b%' AND town ILIKE 'a_' AND age BETWEEN 1 AND 9 AND age NOT IN (3, 4) AND lower(town) <> 'x' "
        "AND trim(town) = 'y' AND coalesce(age, 0) > -5 AND town IS DISTINCT FROM 'q' "
        "AND try_cast(town AS DATE) < DATE '2020-01-01'"
    )
    engine.execute(f'CREATE VIEW v AS SELECT person, town AS "my town" FROM people WHERE {where}')
    (definition,) = engine.execute("SELECT sql FROM duckdb_views() WHERE view_name = 'v'").fetchone()
    question = read('SELECT "my town", COUNT(*) FROM v GROUP BY "my town"')
    assert expand_view(question, definition) == read(f"SELECT town, COUNT(*) FROM people WHERE {where} GROUP BY town")


def test_the_nearest_column_is_offered():
    with refused(InvalidInput, token="mean 'Health'"):
        read("SELECT COUNT(*) FROM t WHERE heath = 'poor'").bind(["person", "Health"])
    with refused(InvalidInput, token="column 'x'"):
        read("SELECT COUNT(*) FROM t WHERE x = 1").bind(["person", "Health"])
