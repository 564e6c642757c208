"""Bands as people write them: edges, periods, labels, what is refused; and as SQL writes them."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, InvalidInput, WrongType
from discreet.questions.bands import BAND, Bands, DeclaredBands, bands_from, in_words, read_bands
from discreet.questions.groups import Groups, read_domain
from discreet.questions.orders import canonical
from discreet.questions.question import read_question
from discreet.release.plan.planning import plan_release
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples


@every_case(
    ("body", "labels"),
    [
        ("18,30,45,65", ("18-29", "30-44", "45-64")),
        ("..18, 30 ,65..", ("under 18", "18-29", "30-64", "65 and over")),
        ("0,1,2,5", ("0", "1", "2-4")),
        ("-10,-5,0,5", ("-10 to -6", "-5 to -1", "0-4")),
        ("18.5,25,30", ("18.5 to under 25", "25 to under 30")),
        ("..18..", ("under 18", "18 and over")),
        ("0..30:10", ("0-9", "10-19", "20-29")),
        ("0..1:0.5", ("0 to under 0.5", "0.5 to under 1")),
        ("2024-01-01,2024-07-01,2024-07-02..", ("2024-01-01 to 2024-06-30", "2024-07-01", "2024-07-02 and later")),
        ("..2024-01-01", ("before 2024-01-01",)),
        ("month:2024-11..2025-01", ("2024-11", "2024-12", "2025-01")),
        ("quarter:2024-Q4..2025-Q1", ("2024-Q4", "2025-Q1")),
        ("year:2023..2024", ("2023", "2024")),
        ("week:2024-01-03..2024-01-08", ("2024-01-01", "2024-01-08")),
        ("day:2024-02-28..2024-03-01", ("2024-02-28", "2024-02-29", "2024-03-01")),
        ("month:2024-02", ("2024-02",)),
    ],
)
def test_bands_have_the_labels_that_people_print(body: str, labels: tuple[str, ...]) -> None:
    assert read_bands("x", body).labels() == labels
    assert read_bands("x", f"{body},NULL,*").values() == (*labels, None, "(all others)")


def test_a_column_of_fractions_has_labels_without_a_gap() -> None:
    assert read_bands("x", "18,30,65..").labels(fractions=True) == ("18 to under 30", "30 to under 65", "65 and over")


def test_the_same_bands_in_python_and_in_text() -> None:
    assert bands_from("x", [18, 30, 65]) == read_bands("x", "18,30,65")
    assert bands_from("x", [-math.inf, 18.0, 65, math.inf, None, ...]) == read_bands("x", "..18,65..,NULL,*")
    assert bands_from("x", [date(2024, 1, 1), "2024-02-01"]) == read_bands("x", "2024-01-01,2024-02-01")
    assert bands_from("x", "month:2024-01") == read_bands("x", "month:2024-01")
    assert read_bands("x", "month:2024-01..2024-02").bands == read_bands("x", "2024-01-01,2024-02-01,2024-03-01").bands


@every_case(
    ("body", "says"),
    [
        ("18", "open end"), ("30,18", "do not ascend"), ("18,18", "do not ascend"),
        ("18,2024-01-01", "mix numbers"), ("18,,30", "empty edge"), ("", "empty edge"), ("*", "empty edge"),
        ("18-29,30-44", "like a band"), ("18..29,30..44", "like a band"), ("a,b", "number nor"),
        ("nan,5", "neither"), ("2024-02-30,2024-03-01", "neither"), (f"0,{2**60}", "beyond 2^53"),
        ("0..100:7", "do not reach"), ("0..100:0", "do not reach"), ("0..9:x", "steps"),
        ("month:2024-13", "span of months"), ("month:2024-05..2024-01", "before they"),
        ("fortnight:2024-01", "not a period"), ("month:2024-01,5", "after their periods"), ("*,*,5,6", "twice"),
        ("day:1900-01-01..2024-01-01", "too many"), ("year:9999", "not a span"), ("0..90000:1", "too many"),
    ],
)  # fmt: skip
def test_what_is_no_band_is_refused_with_a_line_to_type(body: str, says: str) -> None:
    with refused(InvalidInput, "bands", token=says) as refusal:
        read_bands("age", body)
    assert refusal.value.argument == "bands" and "bands=" in str(refusal.value)


@every_case("edges", [5, b"18,30", [True, False], [object(), 1], [complex(1), 2]])
def test_edges_of_python_are_numbers_dates_or_texts(edges: Any) -> None:
    with pytest.raises((WrongType, InvalidInput)):
        bands_from("age", edges)


edges = st.lists(st.integers(-1000, 1000) | st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=2, unique=True)


@given(edges.map(sorted), st.booleans(), st.booleans())
@examples(60)
def test_bands_survive_json_and_each_has_a_label_of_its_own(numbers: list[float], below: bool, above: bool) -> None:
    given_edges = [*([-math.inf] if below else []), *numbers, *([math.inf] if above else [])]
    declared = bands_from("x", given_edges)
    assert Bands.from_json(json.loads(json.dumps(declared.bands.to_json()))) == declared.bands
    assert len(set(declared.labels())) == declared.bands.size == len(given_edges) - 1


def banded(*bodies: str) -> Groups:
    declared = [read_bands("x", body) for body in bodies]
    names = tuple(f"c{k}" for k in range(len(bodies)))
    values, bands = tuple(one.values() for one in declared), tuple(one.bands for one in declared)
    return Groups(names, (BAND,) * len(bodies), values, bands=bands)


def test_groups_with_bands_survive_json_and_keep_their_order() -> None:
    groups = banded("5,10,100,*", "month:2024-11..2025-01,NULL")
    again = Groups.from_json(json.loads(json.dumps(groups.to_json())))
    assert again == groups and canonical(groups) is groups
    assert groups != banded("5,10,101,*", "month:2024-11..2025-01,NULL")  # other edges
    assert groups.labels(0)[0] == "5-9"  # though "10-99" sorts before it


@every_case(
    "damage",
    [
        {"bands": [None]}, {"bands": []},
        {"bands": [{"type": "DOUBLE", "edges": ["5"], "below": False, "above": False}]},
        {"kinds": ["text"]}, {"values": [["5-9", "10-99", "x"]]}, {"rest": [1]}, {"rest": []},
        {"bands": [{"type": "DOUBLE", "edges": ["5", "10.0", "100"], "below": False, "above": False}]},
        {"bands": [{"type": "TIME", "edges": ["5", "10", "100"], "below": False, "above": False}]},
        {"bands": [{"type": "DOUBLE", "edges": ["5", "10", "100"], "below": 0, "above": False}]},
        {"bands": [{"type": "DOUBLE", "edges": ["5", "10", "100"], "below": False, "above": False, "more": 1}]},
    ],
)  # fmt: skip
def test_a_damaged_description_is_refused(damage: dict[str, Any]) -> None:
    content = banded("5,10,100").to_json()
    assert Groups.from_json(content) == banded("5,10,100")
    with pytest.raises(DiscreetError):
        Groups.from_json({**content, **damage})


def test_what_was_asked_before_there_were_bands_is_written_as_before() -> None:
    """The digest of this is the key under which an answer was recorded."""
    written = read_domain(["site=1..6", "health=good,poor,NULL"], ["site", "health"]).to_json()
    assert written == {
        "columns": ["site", "health"],
        "kinds": ["integer", "text"],
        "values": [{"range": [1, 6, 1]}, ["good", "poor", None]],
        "cells": None,
        "zeros": [],
    }


def test_what_is_left_out_is_said_from_the_request() -> None:
    said = {body: in_words("x", read_bands("x", body).bands, read_bands("x", body).values()) for body in (
        "18,30,65", "..18,30..", "18,30,65,NULL", "18,30,65,NULL,*", "..0", "day:2024-01-01..2024-01-31")}  # fmt: skip
    assert said == {
        "18,30,65": "x is counted in bands that begin at 18 and 30 and end before 65. Other values and missing ones "
        "are not counted.",
        "..18,30..": "x is counted in bands that begin at 18 and 30, beside one for all values below 18. Other values "
        "and missing ones are not counted.",
        "18,30,65,NULL": "x is counted in bands that begin at 18 and 30 and end before 65. Other values are not "
        "counted.",
        "18,30,65,NULL,*": "x is counted in bands that begin at 18 and 30 and end before 65.",
        "..0": "x is counted in bands that end before 0. Other values and missing ones are not counted.",
        "day:2024-01-01..2024-01-31": "x is counted in bands that begin at 2024-01-01, 2024-01-02, ..., 2024-01-31 and "
        "end before 2024-02-01. Other values and missing ones are not counted.",
    }


# ------------------------------------------------------------------------------------------------ SQL

CASE = "CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'adult' WHEN age >= 65 THEN 'old' END"


def groups_of(expression: str, alias: str = "", **more: Any) -> Groups:
    by = alias or expression
    sql = f"SELECT {expression}{f' AS {alias}' if alias else ''}, COUNT(*) FROM visits GROUP BY {by}"
    (table,) = plan_release(sql, data="visits.csv", unit="row", epsilon=1, **more).tables
    assert read_question(table.question.text, unit="row") == table.question
    return table.groups


@every_case("alias", ["", "who"])
@every_case(
    ("expression", "more", "bands", "labels"),
    [
        (CASE, {}, "age=..18,65..", ("minor", "adult", "old")),
        ("CASE WHEN 18 > age THEN 'a' WHEN age BETWEEN 18 AND 64 THEN 'b' END", {}, "age=..18,65", ("a", "b")),
        ("CASE WHEN age >= 0 AND age <= 4 THEN 'x' WHEN age = 5 THEN 'y' END", {}, "age=0,5,6", ("x", "y")),
        ("CASE WHEN NOT (age < 1.5) THEN 'more' END", {}, "age=1.5..", ("more",)),
        (
            "CASE WHEN age <= DATE '2024-01-31' THEN 'jan' WHEN age < DATE '2024-03-01' THEN 'feb' END",
            {}, "age=..2024-02-01,2024-03-01", ("jan", "feb"),
        ),
        ("width_bucket(age, 18, 66, 4)", {}, "age=18,30,42,54,66", None),
        ("width_bucket(visits.age, 0, 1, 2)", {}, "age=0,0.5,1", None),
        ("floor(age / 10) * 10", {"bands": {"age": "0..30:10"}}, "age=0..30:10", None),
        ("10 * floor(age / 10.0)", {"bands": ["AGE=20,30,40"]}, "age=20,30,40", None),
        ("date_trunc('month', age)", {"bands": {"age": "month:2024-01..2024-03"}}, "age=month:2024-01..2024-03", None),
        ("date_trunc('year', TRY_CAST(age AS DATE))", {"bands": "age=year:2024,*"}, "age=year:2024,*", None),
    ],
)  # fmt: skip
def test_bands_in_sql_are_the_same_bands(
    expression: str, alias: str, more: dict[str, Any], bands: str, labels: tuple[str, ...] | None
) -> None:
    found = groups_of(expression, alias, **more)
    expected = read_bands("age", bands.partition("=")[2])
    assert found.columns == (alias or "age",) and found.bands == (expected.bands,)
    assert found.values == ((labels or expected.values()),)


@every_case(
    ("expression", "says"),
    [
        ("date_trunc('month', visit)", "begin and end ... visit=month:2024-01"),
        ("date_trunc('hour', visit)", "year, quarter, month"),
        ("floor(age / 10) * 10", "begin and end ... age=0..100:10"),
        ("floor(age / 10) * 5", "by a column ... age=18,30,45,65"),
        ("age // 10 * 10", "by a column"), ("age + 1", "by a column"), ("year(visit)", "visit=month:"),
        ("width_bucket(age, 0, 1, 3)", "no decimal"), ("width_bucket(age, 5, 1, 3)", "whole numbers"),
        ("CASE WHEN age < 18 THEN 'a' ELSE 'b' END", "missing ... ['age=..18..']"),
        ("CASE WHEN age BETWEEN 18 AND 64 THEN 'a' ELSE 'b' END", "missing ... age=18,65,*"),
        ("CASE WHEN age < 18 THEN 'a' WHEN age > 30 THEN 'b' END", "gap"),
        ("CASE WHEN age < 18 THEN 'a' WHEN age < 30 THEN 'b' WHEN age < 40 THEN 'a' END", "one text"),
        ("CASE WHEN age < 18 THEN 1 END", "not a text"), ("CASE WHEN age < size THEN 'a' END", "two columns"),
        ("CASE WHEN age < 18 AND size < 5 THEN 'a' END", "not bands"),
        ("CASE WHEN sex = 'f' THEN 'a' END", "END AS region"), ("CASE age WHEN 1 THEN 'a' END", "END AS region"),
        ("CASE WHEN age <= 17.5 THEN 'a' END", "mixes fractions"), ("CASE WHEN age IS NULL THEN 'a' END", "not bands"),
    ],
)  # fmt: skip
def test_what_is_no_band_in_sql_is_refused_with_a_line_to_type(expression: str, says: str) -> None:
    with refused(InvalidInput, token=says):
        groups_of(expression)


def test_bands_in_the_question_and_beside_it_are_refused() -> None:
    with refused(InvalidInput, "bands"):
        groups_of(CASE, bands={"age": [18, 65]})
    with refused(InvalidInput, "bands"):
        groups_of("date_trunc('month', age)", bands={"age": "year:2024"})
    with refused(InvalidInput, token="GROUP BY"):
        read_question(f"SELECT {CASE}, COUNT(*) FROM t GROUP BY age", unit="row")


def test_less_or_equal_is_read_for_stored_whole_numbers_only(tmp_path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sql = "SELECT CASE WHEN age <= 17 THEN 'a' WHEN age > 17 THEN 'b' END AS w, COUNT(*) FROM t GROUP BY w"
    for kind in (pa.int32(), pa.float64()):
        pq.write_table(pa.table({"age": pa.array([1], kind)}), tmp_path / "t.parquet")
        if kind == pa.int32():
            plan = plan_release(sql, data=tmp_path / "t.parquet", unit="row", epsilon=1)
            assert plan.tables[0].groups.values == (("a", "b"),)
        else:
            with refused(InvalidInput, "bands"):
                plan_release(sql, data=tmp_path / "t.parquet", unit="row", epsilon=1)


def test_a_declaration_without_names_is_labelled_by_its_edges() -> None:
    assert DeclaredBands(Bands((1, 2))).values() == ("1",)
