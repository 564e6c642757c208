"""Public look-ups and recodings: what is read, what is refused, and one text for one meaning."""

from __future__ import annotations

import pytest

from discreet.errors import InvalidInput, UnreadableFile
from discreet.questions.joins.lookups import PublicTable
from discreet.questions.question import Question, read_question
from discreet.questions.resolve.bind import bind_joins, refuse_looked_up_unit
from support.lookups import public_table
from support.refusals import refused

REGIONS = public_table("county,region,size\n1,North,5\n2,North,6\n3,South,\n", "regions", "county")
TYPES = public_table("site,type\na,large\nb,small\n", "types", "site")
KINDS = {"person": "text", "county": "integer", "home": "text", "site": "text", "size": "integer"}
PUBLIC = {"regions": REGIONS, "types": TYPES}


def looked_up(sql: str, public: dict[str, PublicTable] | None = None, kinds: dict[str, str] | None = None) -> Question:
    return bind_joins(read_question(sql, unit="person"), PUBLIC if public is None else public, kinds or KINDS)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, COUNT(*) FROM visits GROUP BY region",
        "SELECT REGION, COUNT(*) FROM visits GROUP BY Region",
        "SELECT region, COUNT(*) FROM visits LEFT JOIN regions USING (county) GROUP BY region",
        "SELECT r.region, COUNT(*) FROM visits v LEFT OUTER JOIN Regions r ON r.county = v.county GROUP BY r.region",
    ],
)
def test_a_look_up_has_one_text_however_it_is_written(sql: str) -> None:
    question = looked_up(sql)
    assert (
        question.text
        == "SELECT region, COUNT(*) FROM visits LEFT JOIN regions ON visits.county = regions.county GROUP BY region"
    )
    assert question.looked_up == {"region": "text"} and question.stored_columns == {"county"}
    assert read_question(question.text, unit="person").text == question.text


def test_a_column_of_the_table_and_of_the_look_up_is_qualified() -> None:
    with refused(InvalidInput, token="regions.size"):
        looked_up("SELECT COUNT(*) FROM visits LEFT JOIN regions USING (county) WHERE size > 3")
    theirs = looked_up("SELECT COUNT(*) FROM visits LEFT JOIN regions USING (county) WHERE regions.size > 3")
    ours = looked_up("SELECT COUNT(*) FROM visits LEFT JOIN regions USING (county) WHERE visits.size > 3")
    assert theirs.looked_up == {"size": "integer"} and ours.looked_up == {}
    assert looked_up("SELECT COUNT(*) FROM visits WHERE size > 3").lookups == ()


@pytest.mark.parametrize(
    ("join", "token"),
    [
        (", regions", "LEFT JOIN"),
        ("CROSS JOIN regions", "CROSS JOIN"),
        ("NATURAL JOIN regions", "NATURAL"),
        ("FULL JOIN regions ON visits.county = regions.county", "FULL"),
        ("RIGHT JOIN regions ON visits.county = regions.county", "RIGHT"),
        ("SEMI JOIN regions ON visits.county = regions.county", "SEMI"),
        ("LEFT JOIN regions ON visits.county > regions.county", "LEFT JOIN"),
        ("LEFT JOIN regions ON visits.county = regions.county AND visits.size = regions.size", "LEFT JOIN"),
        ("LEFT JOIN regions ON county = regions.county", "LEFT JOIN"),
        ("LEFT JOIN regions ON lower(visits.county) = regions.county", "LEFT JOIN"),
        ("LEFT JOIN regions ON visits.county = regions.region", "regions.county"),
        ("LEFT JOIN regions USING (county) LEFT JOIN regions USING (county)", "regions"),
        ("LEFT JOIN visits AS other ON visits.county = other.county", "visits"),
        ("LEFT JOIN towns USING (county)", "[lookups.towns]"),
        ("LEFT JOIN public.regions ON visits.county = regions.county", "regions"),
        ("LEFT JOIN (SELECT * FROM regions) AS r ON visits.county = r.county", "subquery"),
        ("LEFT JOIN regions USING (county) LEFT JOIN types ON regions.region = types.site", "types"),
    ],
)
def test_other_joins_are_refused_with_the_reason(join: str, token: str) -> None:
    with refused(InvalidInput, token=token):
        looked_up(f"SELECT region, COUNT(*) FROM visits {join} GROUP BY region")


@pytest.mark.parametrize(
    ("content", "token"),
    [
        ("county,region\n1,North\n1,South\n", "'1'"),
        ("county,region\n1,North\n01,South\n", "'01'"),
        ("county,region\n1,North\n,South\n", "row 2"),
        ("county,region\n1,North\nNULL,South\n", "row 2"),
        ("county,region\n1,North\nx,South\n", "'x'"),
        ("town,region\n1,North\n", "'county'"),
        ("county,region,Region\n1,North,a\n", "two columns"),
        ("county,region\n", "no rows"),
    ],
)
def test_a_look_up_has_one_row_for_each_key_as_the_column_reads_it(content: str, token: str) -> None:
    with refused(InvalidInput, "lookups", token=token):
        table = public_table(content, "regions", "county")
        looked_up("SELECT region, COUNT(*) FROM visits GROUP BY region", {"regions": table})


def test_keys_are_read_as_the_column_is() -> None:
    """'1' and '01' are two texts; of a column of numbers they are one."""
    table = public_table("home,region\n1,North\n01,South\n", "regions", "home")
    question = looked_up("SELECT region, COUNT(*) FROM visits GROUP BY region", {"regions": table})
    assert question.lookups[0].reads == "text"
    whole = public_table("home,region\n1,North\n2,South\n", "regions", "home")
    question = looked_up("SELECT region, COUNT(*) FROM visits GROUP BY region", {"regions": whole})
    assert question.lookups[0].reads == "integer"


def test_bytes_that_are_no_text_are_refused() -> None:
    for content in (b"county,region\n1,\xff\n", b"county,region\n1,a\0b\n"):
        with refused(InvalidInput, "lookups"):
            PublicTable.read("regions", "county", content, "regions.csv")
    with refused(UnreadableFile):
        PublicTable.read("regions", "county", b"county,region\n1\n", "regions.csv")


def test_a_name_in_two_look_ups_is_refused() -> None:
    other = public_table("county,region\n1,East\n", "states", "county")
    with refused(InvalidInput, token="regions.region"):
        looked_up("SELECT region, COUNT(*) FROM visits GROUP BY region", {"regions": REGIONS, "states": other})


def test_the_unit_is_never_looked_up() -> None:
    table = public_table("id,team\n1,a\n", "teams", "id")
    sql = "SELECT team, COUNT(*) FROM visits LEFT JOIN teams ON visits.person = teams.id GROUP BY team"
    question = looked_up(sql, {"teams": table})
    with refused(InvalidInput, token="teams"):
        refuse_looked_up_unit(question, "Person")


# ------------------------------------------------------------------------------------------------ CASE


@pytest.mark.parametrize(
    "case",
    [
        "CASE WHEN site IN (2, 1) THEN 'N' WHEN site = 3 THEN 'S' END",
        "CASE site WHEN 1 THEN 'N' WHEN 2 THEN 'N' WHEN 3 THEN 'S' END",
        "CASE WHEN site = 1 OR site = 2 THEN 'N' WHEN site IN (3, 1) THEN 'S' ELSE NULL END",
    ],
)
def test_a_recoding_has_one_text_however_it_is_written(case: str) -> None:
    question = read_question(f"SELECT {case} AS area, COUNT(*) FROM visits GROUP BY area", unit="row")
    assert question.text == (
        "SELECT CASE WHEN site IN (1, 2) THEN 'N' WHEN site = 3 THEN 'S' END AS area, COUNT(*) FROM visits "
        "GROUP BY area"
    )
    assert question.by == ("area",) and question.stored_columns == {"site"}
    assert question.lookups[0].columns[0].public_values == ("N", "S")


def test_a_recoding_is_grouped_by_its_name_or_written_again() -> None:
    case = "CASE WHEN site IN ('a', 'b') THEN 'N' ELSE 'other' END"
    by_name = read_question(f"SELECT {case} AS area, COUNT(*) FROM visits GROUP BY area", unit="row")
    again = read_question(f"SELECT {case} AS area, COUNT(*) FROM visits GROUP BY {case}", unit="row")
    assert by_name.text == again.text
    with refused(InvalidInput, token="END AS"):
        read_question(f"SELECT {case}, COUNT(*) FROM visits GROUP BY {case}", unit="row")
    with refused(InvalidInput, token="another name"):
        looked_up("SELECT CASE WHEN site = 'a' THEN 'N' END AS home, COUNT(*) FROM visits GROUP BY home")


@pytest.mark.parametrize(
    "case",
    [
        "CASE WHEN site IN (1, 2) THEN 'N' WHEN year = 3 THEN 'S' END",
        "CASE WHEN site IN (1, 2) THEN 'N' WHEN site = 'x' THEN 'S' END",
        "CASE WHEN site IN (1, 2) THEN 1 END",
        "CASE WHEN site IN (1.5, 2) THEN 'N' END",
        "CASE WHEN LOWER(site) IN ('a', 'b') THEN 'N' END",
        "CASE WHEN site IN (1, 2) AND year = 1 THEN 'N' END",
        "CASE WHEN site NOT IN (1, 2) THEN 'N' END",
        "CASE WHEN site IS NULL THEN 'N' WHEN site = 1 THEN 'S' END",
        "CASE site WHEN NULL THEN 'N' END",
    ],
)
def test_other_cases_are_refused(case: str) -> None:
    with pytest.raises(InvalidInput):
        read_question(f"SELECT {case} AS area, COUNT(*) FROM visits GROUP BY area", unit="row")


def test_bands_written_as_a_case_stay_bands() -> None:
    case = "CASE WHEN age < 18 THEN 'a' WHEN age >= 18 THEN 'b' END AS band"
    question = read_question(f"SELECT {case}, COUNT(*) FROM people GROUP BY band", unit="row")
    assert question.lookups == () and question.by == ("age",)
