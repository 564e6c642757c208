"""Releases in other forms are read back by other programs, and say the same."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import openpyxl
import pandas
import polars
import pytest
import yaml
from pyarrow import parquet
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.errors import InvalidInput, MissingExtra, Unsupported
from discreet.release.bundle import frames
from discreet.release.bundle.report import columns_in_words
from discreet.release.outputs import excel, workbook
from discreet.release.outputs.csvw import csvw_metadata
from discreet.release.outputs.registry import registry_record
from support.bundles import BY_BOTH, ZEROS, Made, answered
from support.refusals import Parts, refused

FORMULA = '=HYPERLINK("http://example.org","x")'


@pytest.fixture
def release(book):
    """Counts of every kind: noisy, suppressed, structural zeros; labels that look like something else."""
    domain = {"site": [1, 2, None], "health": [FORMULA, "NULL", None, "007"]}
    return answered(
        book, domain=domain, zeros=[{"site": 1, "health": "007"}], suppress_below=50, counts="clamped", edition="q1"
    )


def known(values):
    return [None if value is None or value is pandas.NA else value for value in values]


# ------------------------------------------------------------------------------------------------ frames


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_frames_have_the_rows_of_the_release_and_proper_types(release, library):
    if library == "pandas":
        frame = release.to_pandas()
        types = {name: str(kind) for name, kind in frame.dtypes.items()}
        columns = {name: known(frame[name].tolist()) for name in frame.columns}
    elif library == "polars":
        frame = release.to_polars()
        types = {name: str(kind) for name, kind in frame.schema.items()}
        columns = {name: frame[name].to_list() for name in frame.columns}
    else:
        frame = frames.to_arrow(release.tables[0])
        types = {one.name: str(one.type) for one in frame.schema}
        columns = frame.to_pydict()
    assert list(columns) == list(release.tables[0].headings)
    for name in ("site", "count", "low", "high"):
        assert types[name].lower() == "int64"
    assert {types[name].lower() for name in ("edition", "health", "status")} <= {"string", "str"}
    assert {types[name].lower() for name in ("sd", "bias_low", "exact_probability")} <= {"float64", "double"}
    rows = [{"edition": "q1", **row} for row in release.rows()]
    assert any(row["status"] == "Q" for row in rows)
    assert [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)] == rows


def test_frames_of_several_tables_measures_and_a_total(book):
    several = answered(book, questions=[BY_BOTH, "SELECT COUNT(*), COUNT_IF(x = 1) AS x FROM visits"])
    assert len(several.to_pandas()) == 6 and several.to_polars(1)["measure"].to_list() == ["count", "x"]
    with refused(InvalidInput, "number", given=2):
        several.to_pandas(2)


def test_tables_with_totals_say_total_in_every_form(book, tmp_path):
    release = answered(book, totals="all")
    frame, rows = release.to_polars(), release.rows()
    assert list(frame.columns) == list(release.tables[0].headings) == list(release.to_pandas().columns)
    assert frame["grouping"].to_list() == [3, 2, 2, 1, 1, 1, *(0,) * 6]
    assert frame["site"].to_list()[:6] == ["Total", "Total", "Total", "1", "2", "3"]
    assert str(frame["site"].dtype) == "String" and str(release.to_pandas()["site"].dtype) == "string"
    for name in ("site", "health"):
        said = [str(row[name]) for row in rows]
        assert frame[name].to_list() == said == release.to_pandas()[name].tolist()
        assert parquet.read_table(dc.export(release, tmp_path / "a.parquet")[0])[name].to_pylist() == said
    assert frame["count"].to_list() == pytest.approx([row["count"] for row in rows])
    assert frame["measured"].to_list() == [row["measured"] for row in rows]
    sheet = openpyxl.load_workbook(dc.export(release, tmp_path / "a.xlsx")[0])["Data"]
    assert [cell.value for cell in next(sheet.iter_rows(min_row=3))][:3] == [3, "Total", "Total"]
    written = dc.export(release, tmp_path / "counts.csv-metadata.json")
    metadata = json.loads(written[1].read_text(encoding="utf-8"))
    read = read_by_csvw(metadata, 0, written[0].read_text(encoding="utf-8"))
    assert [(row["grouping"], row["site"]) for row in read] == list(frame.select("grouping", "site").iter_rows())
    assert metadata["tables"][0]["tableSchema"]["primaryKey"] == ["grouping", "site", "health"]
    yaml.safe_load(dc.export(release, tmp_path / "a.yaml")[0].read_text(encoding="utf-8"))


def test_bands_and_discovered_groups_are_written_too(tmp_path):
    lines = "".join(f"p{k},{k % 90},{'cook' if k % 2 else 'nurse'}\n" for k in range(2000))
    (tmp_path / "staff.csv").write_text(f"person,age,job\n{lines}")
    book = dc.Ledger.create(tmp_path / "staff.ledger", dataset="staff", unit="person", epsilon=9, delta="1e-5")
    asked = {"data": tmp_path / "staff.csv", "unit": "person", "max_groups": 1, "epsilon": 2, "ledger": book}
    banded = dc.release_counts(
        "SELECT age, job, COUNT(*) FROM staff GROUP BY age, job", bands=["age=18,30,65"], domain=["job=cook,*"], **asked
    )
    assert banded.to_pandas()["age"].tolist() == ["18-29", "18-29", "30-64", "30-64"]
    assert banded.to_polars()["job"].to_list() == ["cook", "(all others)"] * 2
    found = dc.release_counts(
        "SELECT job, COUNT(*) FROM staff GROUP BY job", discover="job", delta="1e-6", edition="q1", **asked
    )
    assert found.to_polars()["job"].to_list() == ["cook", "nurse"] and "certain_high" in found.to_pandas().columns
    for release in (banded, found):
        for name in ("a.xlsx", "a.parquet", "a.yaml", "counts.csv-metadata.json"):
            assert dc.export(release, tmp_path / name)
    with refused(InvalidInput, "editions"):
        dc.compare_editions([found, banded])


@pytest.mark.parametrize("missing", ["pandas", "polars", "pyarrow"])
def test_a_missing_library_is_named_with_what_installs_it(release, monkeypatch, missing, tmp_path):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(frames, "import_module", absent)
    monkeypatch.setattr(workbook, "import_module", absent)
    do = {
        "pandas": release.to_pandas,
        "polars": release.to_polars,
        "pyarrow": lambda: dc.export(release, tmp_path / "a.parquet"),
    }
    with refused(MissingExtra, token=f"'{missing}' ... discreet[frames]"):
        do[missing]()
    with refused(MissingExtra, token="XlsxWriter ... discreet[excel]"):
        dc.export(release, tmp_path / "a.xlsx")
    assert not list(tmp_path.glob("a.*"))


def test_parquet_is_read_back(release, tmp_path):
    (file,) = dc.export(release, tmp_path / "counts.parquet")
    assert parquet.read_table(file).equals(frames.to_arrow(release.tables[0]))
    assert polars.read_parquet(file).equals(release.to_polars())


# ------------------------------------------------------------------------------------------------ Excel


def test_a_workbook_has_the_table_to_read_all_data_and_the_guarantee(release, tmp_path):
    (file,) = dc.export(release, tmp_path / "counts.xlsx")
    book = openpyxl.load_workbook(file)
    assert book.sheetnames == ["Table", "Data", "Guarantee"]
    lines = list(book["Data"].iter_rows())
    assert all(cell.value for cell in lines[0])  # the meaning of each column
    assert [cell.value for cell in lines[1]] == list(release.tables[0].headings)
    for cells, row in zip(lines[2:], release.rows(), strict=True):
        assert all(cell.data_type != "f" and cell.hyperlink is None for cell in cells)
        read = dict(zip(release.tables[0].headings, (cell.value for cell in cells), strict=True))
        assert read["count"] == row["count"] and read["status"] == row["status"] and read["low"] == row["low"]
        assert read["site"] == row["site"] and read["edition"] == "q1"
        # a missing value and a text that reads so are told apart, and 007 keeps its zeros
        shown = {None: "NULL", "NULL": "'NULL'"}.get(row["health"], row["health"])
        assert read["health"] == shown
    said = " ".join(str(cell.value) for line in book["Guarantee"].iter_rows() for cell in line if cell.value)
    assert all(sentence.replace("`", "") in said for sentence in release.guarantee) and release.ledger["head"] in said


def test_years_have_no_thousands_in_the_data_sheet(tmp_path):
    (tmp_path / "staff.csv").write_text("person,year\n" + "".join(f"p{k},2024\n" for k in range(3000)))
    book = dc.Ledger.create(tmp_path / "staff.ledger", dataset="staff", unit="person", epsilon=9)
    asked = {"data": tmp_path / "staff.csv", "unit": "person", "max_groups": 1, "epsilon": 2, "ledger": book}
    release = dc.release_counts("SELECT year, COUNT(*) FROM staff GROUP BY year", domain=["year=2024..2025"], **asked)
    sheet = openpyxl.load_workbook(dc.export(release, tmp_path / "a.xlsx")[0])["Data"]
    headings = [cell.value for cell in sheet[2]]
    shown = dict(zip(headings, (cell.number_format for cell in sheet[3]), strict=True))
    assert (shown["year"], shown["count"], shown["low"]) == ("0", "#,##0", "#,##0")
    assert sheet.cell(3, 1 + headings.index("year")).value == 2024


def front(sheet):
    """Return the cells of a sheet by line, without what is empty at the end of each."""
    lines = [[cell.value for cell in line] for line in sheet.iter_rows()]
    ends = [max((k for k, value in enumerate(line, 1) if value not in (None, "")), default=0) for line in lines]
    return [line[:end] for line, end in zip(lines, ends, strict=True)]


def test_the_first_sheet_is_a_cross_table_that_adds_up(book, tmp_path):
    release = answered(book, totals="all", edition="q1")
    sheet = openpyxl.load_workbook(dc.export(release, tmp_path / "a.xlsx")[0])["Table"]
    lines = front(sheet)
    assert lines[0] == [release.title] and lines[2] == ["Edition: q1"] and lines[4] == [None, "health"]
    assert lines[5] == [None, "good", None, "poor", None, "Total"]
    assert lines[6] == ["site", *["count", "low to high"] * 3]
    table = release.table()
    shown = {(str(row["site"]), row["health"]): row for row in table.rows_for_people()}
    for number, line in enumerate(lines[7:11], 8):
        cells = [shown[line[0], health] for health in ("good", "poor", "Total")]
        assert line[1::2] == [row["count"] for row in cells] and line[1] + line[3] == line[5]
        assert line[2::2] == [f"{row['low']:,} to {row['high']:,}" for row in cells]
        assert [sheet.cell(number, column).font.bold for column in (2, 6)] == [line[0] == "Total", True]
    for column in (1, 3, 5):
        assert sum(line[column] for line in lines[7:10]) == lines[10][column]
    notes = [line[0] for line in lines[11:] if line]
    assert notes[1] == table.rounding_in_words("sheet Data") and notes[2] == "Source: visits, edition q1."
    assert release.plan.protection.who.protected.replace("`", "") in notes[3] and "epsilon = 1;" in notes[3]


def test_the_data_sheet_has_rounded_unrounded_and_measured_counts_explained(book, tmp_path):
    release = answered(book, totals="all")
    meanings, headings, *lines = openpyxl.load_workbook(dc.export(release, tmp_path / "a.xlsx")[0])["Data"].values
    table, explained = release.table(), dict(columns_in_words(release))
    columns = dict(zip(headings, zip(*lines, strict=True), strict=True))
    assert list(columns["rounded_count"]) == [row["count"] for row in table.rows_for_people()]
    for name in ("count", "measured", "low", "sd"):
        assert list(columns[name]) == pytest.approx([row[name] for row in release.rows()])
        assert dict(zip(headings, meanings, strict=True))[name] == explained[name]


def test_long_sentences_of_a_sheet_have_the_height_of_their_lines(release, tmp_path):
    """LibreOffice prints wrapped text over the next line unless the file states the height of its row."""
    sheet = openpyxl.load_workbook(dc.export(release, tmp_path / "a.xlsx")[0])["Guarantee"]
    long = [cell for (cell,) in sheet["B1:B200"] if cell.value and len(cell.value) > 110]
    assert long
    for cell in long:
        assert sheet.row_dimensions[cell.row].height >= 15 * len(cell.value) / 110


def test_numbers_beside_texts_keep_a_distance(book, tmp_path):
    released = answered(book, domain={"site": [1, 2], "health": ["good", "poor"]}, totals="all")
    sheet = openpyxl.load_workbook(dc.export(released, tmp_path / "a.xlsx")[0])["Data"]
    headings = [cell.value for cell in sheet[2]]
    alignment = dict(zip(headings, (cell.alignment.horizontal for cell in sheet[3]), strict=True))
    assert headings[:2] == ["grouping", "site"] and alignment["grouping"] == alignment["status"] == "center"
    assert alignment["count"] is None


def test_groups_that_cannot_be_crossed_are_listed_with_bold_totals(book, tmp_path):
    sql = "SELECT site, health, age, COUNT(*) FROM visits GROUP BY CUBE (site, health, age)"
    domain = {"site": (1, 2), "health": ("good", "poor"), "age": (1, 2)}
    release = answered(book, questions=sql, domain=domain)
    sheet = openpyxl.load_workbook(dc.export(release, tmp_path / "a.xlsx")[0])["Table"]
    lines = front(sheet)
    assert lines[4] == ["site", "health", "age", "count", "low to high"]
    rows = release.table().rows_for_people()
    assert [line[3] for line in lines[5 : 5 + len(rows)]] == [row["count"] for row in rows]
    assert [bool(sheet.cell(6 + k, 4).font.bold) for k in range(len(rows))] == [row["grouping"] > 0 for row in rows]
    assert [release.table().rounding_in_words("sheet Data")] in lines[5 + len(rows) :]


def test_a_workbook_of_several_tables_has_a_sheet_to_read_for_each(book, tmp_path):
    several = answered(book, questions=[BY_BOTH, "SELECT COUNT(*) FROM visits"])
    names = openpyxl.load_workbook(dc.export(several, tmp_path / "a.xlsx")[0]).sheetnames
    assert names == ["Counts of visits by site and he", "Counts of visits", "Data 1", "Data 2", "Guarantee"]


@pytest.mark.parametrize("totals", [None, "all"])
def test_a_workbook_of_editions_highlights_what_noise_does_not_explain(book, tmp_path, totals):
    releases = [answered(book, edition=name, totals=totals, epsilon="1/2") for name in ("q1", "q2", "q3")]
    comparison = dc.compare_editions(releases)
    read = openpyxl.load_workbook(dc.export_editions(comparison, tmp_path / "year.xlsx"))
    assert read.sheetnames == ["Changes", "Counts", "Guarantee"] and len(read["Counts"]._charts) == 1
    rows, lines = comparison.rows(), list(read["Changes"].iter_rows(min_row=4))
    headings = [cell.value for cell in lines[0]]
    assert len(lines) - 1 == len(rows)
    for cells, row in zip(lines[1:], rows, strict=True):
        line = dict(zip(headings, (cell.value for cell in cells), strict=True))
        beyond = row["beyond_noise"]
        assert line["noise explains it"] == ("no" if beyond else "yes")
        assert {cell.fill.fgColor.rgb == "FFFFE699" for cell in cells} == {beyond}
        assert all(isinstance(line[name], int) for name in ("before", "after", "change", "low", "high"))
        assert line["after"] - line["before"] == line["change"] and (line["low"], line["high"]) == (
            row["low"],
            row["high"],
        )
    with refused(InvalidInput, "path"):
        dc.export_editions(comparison, tmp_path / "year.yaml")


def test_a_change_beyond_noise_is_highlighted(book, tmp_path, monkeypatch):
    small = answered(book, edition="q1")
    monkeypatch.setattr(Made, "count", lambda self, plans: [np.full((one.groups.size, 1), 500) for one in plans])
    large = answered(book, edition="q2")
    comparison = dc.compare_editions([small, large])
    sheet = openpyxl.load_workbook(dc.export_editions(comparison, tmp_path / "year.xlsx"))["Changes"]
    lines = list(sheet.iter_rows(min_row=5))
    assert lines and all(cell.fill.fgColor.rgb == "FFFFE699" for line in lines for cell in line)
    assert sheet["A2"].value.startswith(f"Highlighted: {len(lines)} of {len(lines)} changes")


def test_the_same_release_is_the_same_workbook(release, tmp_path):
    one, two = (dc.export(release, tmp_path / name)[0].read_bytes() for name in ("1.xlsx", "2.xlsx"))
    assert one == two


def test_names_of_sheets_are_names_that_excel_takes():
    titles = ["a" * 40, "a" * 40, "a" * 40, "x[1]:*?/\\y", "'quoted'", "", "history", "\x07"]
    names = workbook.sheet_names(titles)
    assert len({name.casefold() for name in names}) == len(titles) and max(map(len, names)) <= 31
    assert not any(re.search(r"[\[\]:*?/\\]", name) or name.startswith("'") or name.endswith("'") for name in names)
    assert "history" not in {name.casefold() for name in names} and all(names)


def test_a_table_too_long_for_a_sheet_is_refused(release, tmp_path, monkeypatch):
    monkeypatch.setattr(excel, "MAX_ROWS", 3)
    with refused(Unsupported, token=".parquet"):
        dc.export(release, tmp_path / "counts.xlsx")


# ------------------------------------------------------------------------------------------------ CSVW


def read_by_csvw(metadata, table, text):
    """A table as a program reads it that knows CSVW and nothing of ours: names, types and missing values."""
    described = metadata["tables"][table]["tableSchema"]["columns"]
    lines = list(csv.reader(io.StringIO(text)))
    assert lines[0] == [column["titles"] for column in described]
    reads = {"integer": int, "string": str, "number": float}
    found = []
    for line in lines[1:]:
        row = {}
        for column, cell in zip(described, line, strict=True):
            kind = column["datatype"]
            if isinstance(kind, dict):
                assert re.fullmatch(kind["format"], cell)
                kind = kind["base"]
            missing = column.get("null", "")
            unknown = cell in missing if isinstance(missing, list) else cell == missing
            row[column["titles"]] = None if unknown else reads[kind](cell)
        found.append(row)
    return found


def test_csvw_describes_the_csv_files(release, tmp_path):
    written = dc.export(release, tmp_path / "counts.csv-metadata.json")
    assert [file.name for file in written] == ["counts.csv", "counts.csv-metadata.json"]
    metadata = json.loads(written[1].read_text(encoding="utf-8"))
    assert metadata["@context"][0] == "http://www.w3.org/ns/csvw" and metadata["tables"][0]["url"] == "counts.csv"
    rows = read_by_csvw(metadata, 0, written[0].read_text(encoding="utf-8"))
    for read, row in zip(rows, release.rows(), strict=True):
        assert (read["site"], read["count"], read["status"], read["high"]) == (
            row["site"], row["count"], row["status"], row["high"],
        )  # fmt: skip
        unmarked = read["health"] if read["health"] is None else read["health"].removeprefix("'")
        assert unmarked == row["health"]
    schema = metadata["tables"][0]["tableSchema"]
    keys = schema["primaryKey"]
    assert keys == ["edition", "site", "health"] and set(keys) <= {column["name"] for column in schema["columns"]}
    assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows)


def test_csvw_data_is_named_after_its_metadata_and_replaces_no_other_file(book, release, tmp_path):
    other = answered(book, questions=[BY_BOTH, "SELECT COUNT(*) FROM visits"], level="0.9")
    assert [file.name for file in dc.export(release, tmp_path / "a.csv-metadata.json")] == [
        "a.csv", "a.csv-metadata.json",
    ]  # fmt: skip
    written = dc.export(other, tmp_path / "b-metadata.json")
    assert [file.name for file in written] == ["b_1.csv", "b_2.csv", "b-metadata.json"]
    for name, level in (("a.csv", "95%"), ("b", "90%")):
        metadata = json.loads((tmp_path / f"{name}-metadata.json").read_text(encoding="utf-8"))
        for number, table in enumerate(metadata["tables"]):
            text = (tmp_path / table["url"]).read_text(encoding="utf-8")
            assert read_by_csvw(metadata, number, text) and f"a {level} interval" in table["dc:description"]
            low = next(one for one in table["tableSchema"]["columns"] if one["name"] == "low")
            assert f"the stated level, {level};" in low["dc:description"]
    dc.export(release, tmp_path / "a.csv-metadata.json")  # once more: the same files
    (tmp_path / "mine.csv").write_text("my own table")
    (tmp_path / "c_2.csv").write_text("my own table")
    for asked, name in ((release, "mine.csv-metadata.json"), (other, "c.csv-metadata.json")):
        with refused(InvalidInput, "path"):
            dc.export(asked, tmp_path / name)
        assert not (tmp_path / name).exists() and not (tmp_path / "c_1.csv").exists()
    assert (tmp_path / "mine.csv").read_text() == "my own table"
    dc.export(answered(book, edition="q2"), tmp_path / "a.csv-metadata.json")  # what the metadata there describes
    assert "q2" in (tmp_path / "a.csv").read_text(encoding="utf-8")


def test_names_in_csvw_are_variables_of_uri_templates(book):
    sql = 'SELECT "a b-c", COUNT(*), COUNT_IF(x = 1) AS "_ü" FROM visits GROUP BY "a b-c"'
    metadata = csvw_metadata(answered(book, questions=sql, domain={"a b-c": [1, 2]}))
    names = [column["name"] for column in metadata["tables"][0]["tableSchema"]["columns"]]
    assert all(re.fullmatch(r"([A-Za-z0-9]|%[0-9A-F]{2})([A-Za-z0-9_.]|%[0-9A-F]{2})*", name) for name in names)
    assert metadata["tables"][0]["tableSchema"]["primaryKey"] == ["a%20b%2Dc", "measure"]


# ------------------------------------------------------------------------------------------------ the registry

#: What schemas/deployments-schema.yaml of opendp/deployments-registry-data of 2026-07-15 allows: the fields of each
#: part, those that it requires with a star. Every field is a text unless :data:`ALLOWED` says otherwise.
FIELDS = {
    "": "url_slug* status* tier* deployment*",
    "deployment": "basic* dp_variant privacy_loss deployment_model accounting implementation administrative",
    "basic": "name* data_curators* description* intended_use* data_product_type* data_product_region* "
    "publication_date* data_product_sector",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters privacy_parameters_details",
    "privacy_parameters": "epsilon delta rho",
    "deployment_model": "model_name model_name_details actors release_type release_type_details data_source_type "
    "data_source_type_details access_type access_type_details",
    "accounting": "post_processing composition",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "administrative": "sources notes registry_authors*",
}
ALLOWED = {
    "status": r"Converted|Draft|Pending|Changes Required|Approved( \((Update Requested|Pending)\))?",
    "data_product_type": "Summary statistics|Machine learning model|Dataset|Synthetic data|Interactive API|SQL queries",
    "data_product_sector": "Technology|Healthcare|Education|Government|Energy|Finance",
    "publication_date": r"\d{4}-\d\d-\d\d",
    "variant_name": "Pure DP|Approximate DP|Zero-concentrated DP|Renyi DP|Custom",
    "model_name": "Local|Central|Shuffle|Federated|Varies",
    "release_type": "One release|Many releases",
    "data_source_type": "Static|Dynamic",
    "access_type": "Interactive|Non-interactive",
}
LISTS, NUMBERS = {"data_curators", "registry_authors"}, {"epsilon", "delta", "rho"}


def problems(part, name=""):
    """What the registry's schema does not allow in a part of a record."""
    stars = FIELDS[name].split()
    yield from (f"{name}: no {field}" for field in stars if field.endswith("*") and field[:-1] not in part)
    for field, value in part.items():
        if field not in {star.rstrip("*") for star in stars}:
            yield f"{name}: {field} is not allowed"
        elif field in FIELDS:
            yield from problems(value, field)
        elif field in LISTS:
            if not (isinstance(value, list) and value and all(isinstance(one, str) for one in value)):
                yield f"{field}: not a list of texts"
        elif field == "tier" or field in NUMBERS:
            if type(value) not in (int, float) or (field == "tier" and value not in (1, 2, 3)):
                yield f"{field}: {value!r}"
        elif not (isinstance(value, str) and re.fullmatch(ALLOWED.get(field, "(?s:.*)"), value)):
            yield f"{field}: {value!r}"


@pytest.mark.parametrize("kind", ["declared", "gaussian", "edition", "totals"])
def test_the_record_keeps_the_schema_of_the_registry(tmp_path, kind):
    options = {
        "declared": {}, "gaussian": {"mechanism": "discrete-gaussian", "delta": "1e-6"},
        "edition": {"edition": "Q1 '26"}, "totals": {"totals": "all"},
    }[kind]  # fmt: skip
    other = dc.Ledger.create(tmp_path / "other", dataset="visits", unit="person", epsilon=9, delta="1e-5")
    (file,) = dc.export(answered(other, **options), tmp_path / "registry.yaml")
    record = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert list(problems(record)) == []
    basic = record["deployment"]["basic"]
    parts = [basic["name"], "-".join(basic["data_curators"]), basic["publication_date"].split("-")[0]]
    slug = "_".join(re.sub(r"\W+", "_", part.lower()) for part in parts).replace("_", "-")  # as the registry makes it
    assert file.read_text(encoding="utf-8").splitlines()[0] == f"url_slug: {slug}" == f"url_slug: {record['url_slug']}"


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_the_record_calls_a_guarantee_exact_where_no_float_decided_it(tmp_path, delta):
    book = dc.Ledger.create(tmp_path / "other", dataset="visits", unit="person", epsilon=9, delta="1e-5")
    options = {} if delta is None else {"mechanism": "discrete-gaussian", "delta": delta}
    said = registry_record(answered(book, **options))["deployment"]["implementation"]["mechanisms"]
    assert ("proved in exact numbers" in said) == (delta is None)
    assert ("floating point with a bound on its error" in said) == (delta is not None)


def test_the_record_says_what_follows_from_the_release(release, tmp_path):
    (file,) = dc.export(release, tmp_path / "registry.yaml")
    record = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert record == json.loads(json.dumps(registry_record(release)))
    deployment = record["deployment"]
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert deployment["dp_variant"]["variant_name"] == "Pure DP" and record["status"] == "Draft"
    assert deployment["deployment_model"]["release_type"] == "Many releases"
    assert "below 50 are withheld" in deployment["accounting"]["post_processing"]
    assert "TODO" in deployment["basic"]["data_curators"][0]
    assert "1 structural zero" in deployment["dp_variant"]["unprotected_quantities"]
    other = dc.Ledger.create(tmp_path / "other", dataset="visits", unit="person", epsilon=9, delta="1e-5")
    gaussian = answered(other, mechanism="discrete-gaussian", delta="1e-6")
    loss = registry_record(gaussian)["deployment"]
    assert loss["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert loss["privacy_loss"]["privacy_parameters"]["delta"] <= 1.0000001e-6


def test_the_record_of_totals_names_every_level_and_the_least_squares(book):
    totals = answered(book, totals="all", split=[4, 3, 2, 1])
    record = registry_record(totals)["deployment"]
    done = record["accounting"]["post_processing"]
    assert "combined by least squares, so that they add up" in done and "not negative" in done and "None" not in done
    said = record["implementation"]["mechanisms"]
    for share, epsilon in (("40%", "0.4"), ("30%", "0.3"), ("20%", "0.2"), ("10%", "0.1")):
        assert re.search(rf"{share} of the budget; two-sided geometric with epsilon {epsilon} for each count", said)
    assert record["accounting"]["composition"].startswith("Basic composition of 12 counts on 4 levels: One `person`")


def test_the_record_of_rows_says_nothing_of_people_and_bounds(tmp_path):
    (tmp_path / "visits.csv").write_text("site\n1\n2\n")
    book = dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="row", epsilon=9)
    release = dc.release_counts(
        "SELECT site, COUNT(*) FROM visits GROUP BY site", data=tmp_path / "visits.csv", unit="row", epsilon=1,
        domain={"site": [1, 2]}, ledger=book, counts="clamped",
    )  # fmt: skip
    record = registry_record(release)["deployment"]
    said = record["implementation"]
    assert "Each row is counted once" in said["preprocessing_and_hyperparameter_tuning"]
    assert "person" not in said["preprocessing_and_hyperparameter_tuning"]
    assert said["justification"].endswith("why this epsilon and these groups.")
    assert record["accounting"]["post_processing"].endswith("counts below 0 are raised to 0.")
    assert record["accounting"]["composition"].startswith("Basic composition of 2 counts: One row changes at most one")


def test_the_record_of_discovered_groups_does_not_call_them_public(tmp_path):
    lines = "".join(f"p{k},{k % 3},{'cook' if k % 2 else 'nurse'}\n" for k in range(600))
    (tmp_path / "staff.csv").write_text(f"person,site,job\n{lines}")
    book = dc.Ledger.create(tmp_path / "staff.ledger", dataset="staff", unit="person", epsilon=9, delta="1e-5")
    release = dc.release_counts(
        "SELECT site, job, COUNT(*), COUNT_IF(site = 1) AS first FROM staff GROUP BY site, job", discover="job",
        domain=["site=0..2"], data=tmp_path / "staff.csv", unit="person", max_groups=1, epsilon=2, delta="1e-6",
        ledger=book,
    )  # fmt: skip
    record = registry_record(release)["deployment"]
    public = record["dp_variant"]["unprotected_quantities"]
    assert "not protected: the questions and the declared groups." in public
    assert (
        f"The values of job come from the data: a group is named where its noisy count is above {reach(release)}"
        in public
    )
    said = record["accounting"]
    assert "0 counts" not in said["composition"] and "however many groups are found" in said["composition"]
    assert "small counts are withheld is part of the mechanism. Further measures are raised" in said["post_processing"]
    assert "range of a count" not in said["post_processing"]


def reach(release):
    return release.tables[0].plan.noise.reach


# ------------------------------------------------------------------------------------------------ the command line


def test_a_bundle_is_exported_after_it_was_checked(book, tmp_path):
    answered(book, tmp_path / "out", zeros=ZEROS)
    files = [tmp_path / name for name in ("a.xlsx", "a.parquet", "a.yaml")]
    targets = [word for file in files for word in ("--to", str(file))]
    done = CliRunner().invoke(app, ["export", str(tmp_path / "out"), *targets, "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["written"] == list(map(str, files)) and all(file.is_file() for file in files)
    for place, why in (
        (tmp_path / "out" / "a.xlsx", Parts(token="longer holds")),
        (tmp_path / "a.docx", Parts(argument="path", given="a.docx")),
        (tmp_path / "no" / "a.xlsx", Parts(token="folder")),
    ):
        with refused(InvalidInput, **why):
            CliRunner().invoke(app, ["export", str(tmp_path / "out"), "--to", str(place)], catch_exceptions=False)
    assert dc.verify_bundle(tmp_path / "out").holds


def test_a_workbook_names_what_its_curator_states(book, tmp_path):
    stated = {
        "title": "Visits to the doctor",
        "publisher": "Office",
        "source": "Register of visits",
        "contact": "a@b.org",
    }
    sheet = openpyxl.load_workbook(dc.export(answered(book, **stated), tmp_path / "a.xlsx")[0])["Table"]
    texts = [cell.value for cell in sheet["A"] if cell.value]
    assert texts[0] == stated["title"]
    assert {"Source: Register of visits.", "Publisher: Office", "Contact: a@b.org"} <= set(texts)
