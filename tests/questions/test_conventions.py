"""A declared value that looks like another program's convention is questioned, and can be insisted on."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import InvalidInput
from discreet.questions.groups import groups_from, read_domain
from discreet.release.plan.planning import plan_release
from support.grids import every_case
from support.refusals import refused

QUESTIONED = {
    "auto": "a word for all values in the data",
    "ALL": "a word for all values in the data",
    "?": "a word for all values in the data",
    "*": "a pattern for all values",
    "...": "a pattern for all values",
    "United*": "a pattern for all values",
    "17..90:10": "a range with a step",
    "17..90/10": "a range with a step",
    "1..9..2": "a range with a step",
    "1:10:2": "a range with a step",
    "17..90 step 10": "a range with a step",
    "1-6": "a range",
    "1–6": "a range",
    "1:6": "a range",
    "1 to 6": "a range",
    "1…6": "a range",
    "1...6": "a range",
    "1..": "a range",
    "range(1": "a range",
    "a..f": "a range of texts",
    "2020-01..2020-12": "a range of texts",
    "a;b;c": "a list with semicolons",
    "a|b": "a list with bars",
    "1 2 3": "a list with blanks",
    "towns.txt": "a file of values",
    "null": "the missing value",
    "NaN": "the missing value",
    "None": "the missing value",
}


@every_case("body", QUESTIONED)
def test_a_value_that_looks_like_another_convention_is_questioned(body: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_domain([f"x={body}"], ["x"])
    assert f"looks like {QUESTIONED[body]}. " in str(refusal.value)
    assert f"or '{body}' in quotes if it is one value" in str(refusal.value)


@pytest.mark.parametrize("body", QUESTIONED)
def test_it_can_be_insisted_on_by_quotes_by_a_file_and_in_python(body: str, tmp_path: Path) -> None:
    assert read_domain([f"x='{body}','other'"], ["x"]).values == ((body, "other"),)
    (tmp_path / "values").write_text(f"'{body}'\n'other'\n")
    assert read_domain([f"x=@{tmp_path / 'values'}"], ["x"]).values == ((body, "other"),)
    assert groups_from({"x": [body]}, ["x"]).values == ((body,),)


@every_case("body", ["[a,b]", '["a","b"]', "(a,b)", "{1,2}", "(1)"])
def test_a_list_in_brackets_is_questioned(body: str) -> None:
    with refused(InvalidInput, "domain"):
        read_domain([f"x={body}"], ["x"])


@pytest.mark.parametrize("body", ["'good,poor'", '"good,poor"', "'a;b'", "'a|b|c'"])
def test_a_list_in_quotes_is_questioned_and_a_file_insists(body: str, tmp_path: Path) -> None:
    with refused(InvalidInput, "domain"):
        read_domain([f"x={body}"], ["x"])
    (tmp_path / "values").write_text(body + "\n")
    assert read_domain([f"x=@{tmp_path / 'values'}"], ["x"]).values == ((body[1:-1],),)


def test_a_file_with_all_values_on_one_line_is_questioned(tmp_path: Path) -> None:
    (tmp_path / "values").write_text("good,fair,poor\n")
    with refused(InvalidInput, "domain"):
        read_domain([f"x=@{tmp_path / 'values'}"], ["x"])


@every_case(
    ("body", "values"),
    [
        ("1..6", range(1, 7)),
        ("-3..3", range(-3, 4)),
        ("1..3,7,NULL", (1, 2, 3, 7, None)),
        ("all,some,none", ("all", "some", "none")),
        ("United-States,Outlying-US(Guam-USVI-etc),?", ("United-States", "Outlying-US(Guam-USVI-etc)", "?")),
        ("New York,a/b,c&d,50%,65+,U.S.", ("New York", "a/b", "c&d", "50%", "65+", "U.S.")),
        ("2020-01-31,2020-02-29", ("2020-01-31", "2020-02-29")),
        ("'cook, chef'", ("cook, chef",)),
        ("NA,DE", ("NA", "DE")),
        ("01,02", ("01", "02")),
        ("Other (specify),None of these", ("Other (specify)", "None of these")),
    ],
)
def test_ordinary_values_are_not_questioned(body: str, values: object) -> None:
    assert read_domain([f"x={body}"], ["x"]).values == (values,)


def test_blanks_after_commas_are_noted() -> None:
    ask = {"data": "v", "unit": "row", "epsilon": 1}
    sql = "SELECT health, COUNT(*) FROM v GROUP BY health"
    for body, noted in (
        ("good, poor", True),
        ("good,poor", False),
        ("'good', ' poor'", False),
        ("New York,Bonn", False),
    ):
        plan = plan_release(sql, domain=[f"health={body}"], **ask)
        assert any("blanks around the values of health" in note for note in plan.notes) == noted


# ------------------------------------------------------------------------------------------------ typed columns


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    import duckdb

    with duckdb.connect(tmp_path / "v.duckdb") as database:
        database.execute(
            "CREATE TABLE v AS SELECT 5.0::DOUBLE AS n, 5.50::DECIMAL(5, 2) AS m, 5 AS i, DATE '2020-01-31' AS d, "
            "TIMESTAMP '2020-01-31 13:45:00' AS t, TRUE AS b, '5' AS s"
        )
    return tmp_path / "v.duckdb"


@every_case(
    ("condition", "says"),
    [
        ("n = '5'", "= '5' ... quotes out"),
        ("n <> '5'", "quotes out"),
        ("n IN ('5', '6')", "quotes out"),
        ("n < '5'", "quotes out"),
        ("m = '5.5'", "quotes out"),
        ("i = 'five'", "row can equal"),
        ("i = '05'", "row can equal"),
        ("i IN ('5', '6.0')", "row can equal"),
        ("d = '31.01.2020'", "row can equal ... DATE '2020-01-31'"),
        ("t = '2020-01-31'", "row can equal ... TIMESTAMP"),
    ],
)
def test_text_compared_with_numbers_or_dates_is_refused(typed: Path, condition: str, says: str) -> None:
    with refused(InvalidInput, token=says):
        plan_release(f"SELECT COUNT(*) FROM v WHERE {condition}", data=typed, unit="row", epsilon=1)


@every_case(
    ("condition", "noted"),
    [
        ("n = 5", False),
        ("TRY_CAST(n AS VARCHAR) = '5.0'", False),
        ("i = '5'", True),
        ("d = '2020-01-31'", False),
        ("t = '2020-01-31 13:45:00'", False),
        ("s = '5'", False),
        ("n LIKE '5%'", False),
    ],
)
def test_what_can_match_is_answered_and_what_may_surprise_is_noted(typed: Path, condition: str, noted: bool) -> None:
    plan = plan_release(f"SELECT COUNT(*) FROM v WHERE {condition}", data=typed, unit="row", epsilon=1)
    assert bool(plan.notes) == noted, plan.notes


@every_case(
    ("column", "domain", "says"),
    [
        ("b", "True,False", "'True'"),
        ("b", "0,1", "holds truth"),
        ("d", "31.01.2020", "holds dates"),
        ("d", "2020,2021", "holds dates"),
        ("t", "2020-01-31,2020-02-01", "holds moments"),
        ("n", "5.0", "holds numbers"),
    ],
)
def test_declared_values_that_no_stored_value_is_written_as_are_refused(
    typed: Path, column: str, domain: str, says: str
) -> None:
    sql = f"SELECT {column}, COUNT(*) FROM v GROUP BY {column}"
    with refused(InvalidInput, "domain", token=says):
        plan_release(sql, domain=[f"{column}={domain}"], data=typed, unit="row", epsilon=1)
    right = {
        "b": "true,false,NULL",
        "d": "2020-01-31,2020-02-01",
        "t": "2020-01-31 12:30:00,2020-02-01 00:00:00",
        "n": "5,6",
    }[column]
    assert plan_release(sql, domain=[f"{column}={right}"], data=typed, unit="row", epsilon=1).cells > 1
