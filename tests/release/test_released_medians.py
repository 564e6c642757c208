"""Medians as a product: asked for in a request or in SQL, found in the counts, published and checked again."""

from __future__ import annotations

import csv
import json
from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.questions.question import read_question
from discreet.release.outputs.excel import write_excel
from discreet.release.plan.plan import plan_from_request
from discreet.release.plan.planning import plan_release
from support.bundles import answered, edit, edit_json
from support.command_line import run
from support.refusals import refused

BANDS = {"age": [0, 18, 30, 45, 65]}
COUNTS = "SELECT sex, age, COUNT(*) FROM visits GROUP BY sex, age"
MEDIAN = "SELECT sex, MEDIAN(age) FROM visits GROUP BY sex"
FIELDS = {"data": "visits.csv", "unit": "person", "domain": {"sex": ["f", "m"]}, "bands": BANDS, "epsilon": 1}


def planned(question: str, **fields):
    return plan_release(question, **(FIELDS | fields))


@pytest.mark.parametrize(
    ("sql", "share"),
    [
        ("MEDIAN(age)", "1/2"),
        ("MEDIAN(Age) AS middle", "1/2"),
        ("QUANTILE_CONT(age, 0.25)", "1/4"),
        ("QUANTILE(age, 0.9)", "9/10"),
        ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age)", "1/4"),
    ],
)
def test_a_quantile_in_sql_counts_by_its_column(sql: str, share: str) -> None:
    question = read_question(f"SELECT sex, {sql} FROM visits GROUP BY sex", unit="person")
    assert question.text.casefold() == COUNTS.casefold()
    assert question.quantiles == ((1, Fraction(share)),)


@pytest.mark.parametrize(
    ("sql", "token"),
    [
        ("COUNT(*), MEDIAN(age)", "quantiles"),
        ("MEDIAN(age + 1)", "MEDIAN"),
        ("MEDIAN(DISTINCT age)", "DISTINCT"),
        ("QUANTILE_CONT(age, 1.5)", "1.5"),
        ("QUANTILE_CONT(age, [0.1, 0.5])", "0.1"),
        ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age DESC)", "desc"),
        ("MEDIAN(age) OVER ()", "OVER"),
    ],
)
def test_other_forms_are_refused(sql: str, token: str) -> None:
    with refused(InvalidInput, token=token):
        read_question(f"SELECT sex, {sql} FROM visits GROUP BY sex", unit="person")


def test_medians_have_the_key_of_their_counts() -> None:
    counts = planned(COUNTS, counts="signed", max_groups=1)
    fields = {"quantile": ["age:0.5", "age:0.25"]}
    plans = [planned(MEDIAN), planned(COUNTS, quantile="age"), planned(COUNTS.replace(", age", ""), **fields)]
    assert {plan.key for plan in plans} == {counts.key}
    assert {plan.cost for plan in plans} == {counts.cost}
    assert "quantiles" not in counts.request
    assert plans[2].request["quantiles"] == [[["age", "1/2"], ["age", "1/4"]]]
    for plan in plans:
        assert plan_from_request(json.loads(json.dumps(plan.request))).request == plan.request


def test_counts_are_unclamped_unless_asked_otherwise() -> None:
    assert planned(MEDIAN).tables[0].noise.output == "signed"
    assert planned(MEDIAN, counts="clamped").tables[0].noise.output == "clamped"
    assert planned(MEDIAN, bound=50).tables[0].noise.output == planned(
        COUNTS, bound=50, max_groups=1
    ).tables[0].noise.output  # fmt: skip


def test_what_moves_a_quantile_is_refused() -> None:
    with refused(InvalidInput, "max_groups"):
        planned(MEDIAN, max_groups=2)
    with refused(InvalidInput, "suppress_below"):
        planned(MEDIAN, suppress_below=5)
    with refused(InvalidInput, "discover"):
        planned(MEDIAN, discover="sex", domain=None, bands=None, max_groups=1, delta="1e-6")
    with refused(InvalidInput, "quantile"):
        planned("SELECT MEDIAN(sex) FROM visits", bands=None)
    with refused(InvalidInput, "quantile"):
        plan_release([COUNTS, COUNTS], **FIELDS, quantile="age")
    for text in ("age:2", "", ":0.5", "age:x"):
        with refused(InvalidInput, "quantile"):
            planned(COUNTS, quantile=[text])


def test_a_median_without_bands_is_refused_with_the_line_to_type() -> None:
    with refused(InvalidInput, "bands", token="age"):
        planned(MEDIAN, bands=None)


def test_a_bundle_has_the_medians_and_an_audit_finds_them_again(book, tmp_path) -> None:
    fields = {**FIELDS, "domain": FIELDS["domain"], "max_groups": None}
    first = answered(book, questions=COUNTS, **{**fields, "max_groups": 1, "counts": "signed"})
    release = answered(book, tmp_path / "out", questions=MEDIAN, **fields, edition="")
    assert first.paid and not release.paid  # the counts were drawn and paid once
    rows = release.quantiles()
    assert [row["sex"] for row in rows] == ["f", "m"]
    expected = [release.quantile("age", "1/2", {"sex": sex}) for sex in ("f", "m")]
    assert [(row["value"], row["low"], row["high"]) for row in rows] == [(q.value, q.low, q.high) for q in expected]
    with (tmp_path / "out" / "quantiles.csv").open() as file:
        assert [dict(row) for row in csv.DictReader(file)] == rows
    assert dc.verify_bundle(tmp_path / "out", book).holds
    assert dc.open_bundle(tmp_path / "out").quantiles() == rows
    assert release.to_json()["tables"][0]["quantiles"] == rows
    assert "Median of age" in release.describe()
    assert "Median of age" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert first.quantiles() == []


def test_a_forged_median_is_noticed(book, tmp_path) -> None:
    for name, change in (("file", "value"), ("request", "share")):
        out = tmp_path / name
        release = answered(book, out, questions=MEDIAN, **{**FIELDS, "max_groups": None})
        if change == "value":
            row = release.quantiles()[0]
            edit(out, "quantiles.csv", f"{row['value']},{row['low']}", f"0-17,{row['low']}")
        else:
            edit_json(out, "request.json", lambda request: request["quantiles"][0][0].__setitem__(1, "1/4"))
        assert not dc.verify_bundle(out, book).holds


def test_medians_of_whole_numbers_and_of_several_measures(book) -> None:
    questions = (
        "SELECT COUNT_IF(health = 'good') AS good, COUNT_IF(health = 'poor') AS poor, age FROM visits GROUP BY age"
    )
    release = answered(
        book, questions=questions, domain={"age": [40, 20, 30, None]}, bands=None, max_groups=None, quantile="age:0.5",
        epsilon=50,
    )  # fmt: skip
    assert release.quantiles() == [
        {"measure": name, "column": "age", "share": "1/2", "value": 30, "low": 30, "high": 30}
        for name in ("good", "poor")
    ]


def test_medians_in_a_table_with_totals(book, tmp_path) -> None:
    fields = {**FIELDS, "max_groups": None, "totals": "all"}
    release = answered(book, tmp_path / "out", questions=MEDIAN, **fields)
    assert len(release.quantiles()) == 2
    assert dc.verify_bundle(tmp_path / "out", book).holds


def test_a_workbook_has_a_sheet_of_medians(book, tmp_path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    release = answered(book, questions=MEDIAN, **{**FIELDS, "max_groups": None})
    sheets = openpyxl.load_workbook(write_excel(release, tmp_path / "out.xlsx"))
    rows = list(sheets["Median of age by sex"].iter_rows(values_only=True))
    assert rows[1] == ("sex", "column", "share", "value", "low", "high")
    assert [row[3] for row in rows[2:]] == [row["value"] for row in release.quantiles()]


def test_the_command_line_groups_a_dataset_by_columns(tmp_path) -> None:
    lines = [f"{k},{'f' if k % 2 else 'm'},{20 + k % 60}" for k in range(300)]
    (tmp_path / "visits.csv").write_text("\n".join(["person,sex,age", *lines]) + "\n")
    run(
        "dataset",
        "new",
        "visits.csv",
        "--unit",
        "person",
        "--budget",
        "2",
        "--domain",
        "sex=f,m",
        "--yes",
        cwd=tmp_path,
    )
    line = ["release", "--quantile", "age:0.5", "--by", "sex", "--epsilon", "1", "-o", "out", "--yes"]
    assert "--bands age=" in run(*line, code=2, cwd=tmp_path).stderr
    bands = ["--bands", "age=0,18,30,45,65,100"]
    assert "Median of age" in run(*line, *bands, cwd=tmp_path).stdout
    with (tmp_path / "out" / "quantiles.csv").open() as file:
        assert [row["value"] for row in csv.DictReader(file)] == ["45-64", "45-64"]
    again = run("release", MEDIAN, *bands, "--epsilon", "1", "-o", "again", "--yes", cwd=tmp_path)
    assert "nothing was spent" in again.stdout
    run("release", "--epsilon", "1", "-o", "none", code=2, cwd=tmp_path)
    run("release", MEDIAN, "--by", "sex", code=2, cwd=tmp_path)
    where = [*line[:-3], "-o", "where", "--yes", *bands, "--where", "sex = 'f'"]
    run(*where, cwd=tmp_path)
    asked = json.loads((tmp_path / "where" / "request.json").read_text())
    assert "sex = 'f'" in asked["tables"][0]["question"]
    assert "--where" in run("release", MEDIAN, "--where", "sex = 'f'", code=2, cwd=tmp_path).stderr
    assert "whole number" in run(*line[:5], "--error", "5%", *bands, code=2, cwd=tmp_path).stderr
