"""Look-ups of a data set: declared, used, recorded, published, and checked again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pandas
import pytest

import discreet as dc
from discreet.datasets.create import check_dataset
from discreet.datasets.declaration import Declaration
from discreet.errors import InvalidInput, UnreadableFile
from support.bundles import edit, edit_json
from support.refusals import refused

PEOPLE = "person,site,county\nann,1,1\nann,2,2\nbob,2,2\neve,3,3\nzoe,9,\n"
REGIONS = "county,region,size\n1,North,5\n2,North,6\n3,South,\n"
BY_REGION = "SELECT region, COUNT(*) FROM visits GROUP BY region"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A data set with a look-up, and epsilon 1000."""
    (tmp_path / "visits.csv").write_text(PEOPLE)
    (tmp_path / "regions.csv").write_text(REGIONS)
    (tmp_path / "visits.toml").write_text(
        'format = "discreet dataset"\ndataset = "visits"\nunit = "person"\nledger = "visits.ledger"\n'
        '[tables.visits]\ndata = "visits.csv"\n[lookups.regions]\ndata = "regions.csv"\nkey = "county"\n'
    )
    dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=1000)
    return tmp_path / "visits.toml"


def test_groups_and_conditions_come_from_a_public_file(file: Path) -> None:
    """The noise of epsilon 40 is zero; no domain is needed, as the values of a public file are public."""
    data = dc.Dataset.open(file)
    by_region = data.plan(BY_REGION, max_groups=1, epsilon=40).release()
    assert [(row["region"], row["count"]) for row in by_region.rows()] == [("North", 2), ("South", 1)]
    large = data.plan("SELECT COUNT(*) FROM visits WHERE size > 5", epsilon=40).release()
    assert [row["count"] for row in large.rows()] == [2]
    known = data.plan("SELECT COUNT(*) FROM visits JOIN regions USING (county)", epsilon=40).release()
    assert [row["count"] for row in known.rows()] == [3]
    missing = data.plan(BY_REGION, domain={"region": ["North", None]}, max_groups=2, epsilon=40).release()
    assert [row["count"] for row in missing.rows()] == [2, 1]


def test_a_recoding_needs_no_declaration(file: Path) -> None:
    sql = "SELECT CASE WHEN site IN (1, 2) THEN 'low' ELSE 'rest' END AS part, COUNT(*) FROM visits GROUP BY part"
    released = dc.Dataset.open(file).plan(sql, max_groups=1, epsilon=40).release(file.parent / "out")
    assert [(row["part"], row["count"]) for row in released.rows()] == [("low", 2), ("rest", 2)]
    assert dc.verify_bundle(file.parent / "out", file.parent / "visits.ledger").holds
    assert "lookups" not in released.request["tables"][0]


def test_a_look_up_of_a_table_in_memory(file: Path) -> None:
    frame = pandas.DataFrame({"person": [1, 1, 2, 3], "county": [1, 2, 2, 3]})
    folder = file.parent
    data = dc.Dataset(
        name="visits", data=frame, unit="person", ledger=folder / "visits.ledger",
        lookups={"regions": {"data": str(folder / "regions.csv"), "key": "county"}},
    )  # fmt: skip
    released = data.plan(by=["region"], max_groups=1, epsilon=40).release()
    assert [row["count"] for row in released.rows()] == [2, 1]


def test_the_bytes_of_the_file_are_part_of_the_question(file: Path) -> None:
    """Another file is another question; the same one has its recorded answer."""
    data = dc.Dataset.open(file)
    first = data.plan(BY_REGION, max_groups=1, epsilon=40)
    first.release()
    assert dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=40).preview().verdict == "recorded"
    (file.parent / "regions.csv").write_text(REGIONS + "4,East,1\n")
    other = dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=40)
    assert other.key != first.key and other.preview().verdict == "paid"
    assert first.request["tables"][0]["lookups"]["regions"]["reads"] == "integer"


def test_the_plan_shows_the_look_up_and_the_guarantee_says_what_it_is(file: Path) -> None:
    plan = dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=1)
    digest = plan.request["tables"][0]["lookups"]["regions"]["sha256"]
    assert digest[:16] in plan.plan.describe()
    assert any("the public look-up regions" in sentence for sentence in plan.guarantee)


# ------------------------------------------------------------------------------------------------ refusals


def _declare(file: Path, data: str, key: str = "county") -> None:
    text = file.read_text()
    head = text[: text.index("[lookups")]
    file.write_text(f'{head}[lookups.regions]\ndata = "{data}"\nkey = "{key}"\n')


def test_a_private_table_is_no_look_up(file: Path) -> None:
    _declare(file, "visits.csv", "site")
    with refused(InvalidInput, "lookups", token="public"):
        dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=1)
    link = file.parent / "link.csv"
    link.symlink_to(file.parent / "visits.csv")
    _declare(file, "link.csv", "site")
    with refused(InvalidInput, "lookups", token="public"):
        dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=1)


def test_a_look_up_has_no_rows_about_people(file: Path) -> None:
    (file.parent / "regions.csv").write_text("Person,county,region\nann,1,North\n")
    with refused(InvalidInput, "lookups", token="'Person'"):
        dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=1)


def test_a_look_up_is_a_csv_file_that_exists(file: Path) -> None:
    _declare(file, "regions.parquet")
    with refused(InvalidInput, "lookups", token=".csv,"):
        dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=1)
    _declare(file, "nowhere.csv")
    with refused(UnreadableFile):
        dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=1)


def test_a_question_without_look_ups_reads_none_of_them(file: Path) -> None:
    _declare(file, "nowhere.csv")
    assert dc.Dataset.open(file).plan("SELECT COUNT(*) FROM visits WHERE site = 1", epsilon=1).cells == 1


def test_a_table_and_a_look_up_have_two_names(file: Path) -> None:
    file.write_text(file.read_text().replace("[lookups.regions]", "[lookups.Visits]"))
    with refused(UnreadableFile):
        dc.Dataset.open(file)


def test_a_declaration_with_look_ups_is_written_and_moved(file: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    copy = dc.Dataset.open(file).save(tmp_path / "more" / "visits.toml")
    assert "[lookups.regions]" in copy.read_text()
    assert dc.Dataset.open(copy).plan(BY_REGION, max_groups=1, epsilon=1).cells == 2


# ------------------------------------------------------------------------------------------------ the audit


@pytest.fixture
def bundle(file: Path) -> Path:
    dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=40).release(file.parent / "out")
    return file.parent / "out"


def test_a_bundle_holds_the_file_byte_for_byte(bundle: Path) -> None:
    report = dc.verify_bundle(bundle, bundle.parent / "visits.ledger")
    assert report.holds and report["look-ups"].holds
    assert (bundle / "lookup_1.csv").read_bytes() == (bundle.parent / "regions.csv").read_bytes()
    opened = dc.open_bundle(bundle)
    opened.save(bundle.parent / "again")
    assert dc.verify_bundle(bundle.parent / "again").holds is not False


def test_a_changed_look_up_is_noticed(bundle: Path) -> None:
    edit(bundle, "lookup_1.csv", "3,South", "3,North")
    assert dc.verify_bundle(bundle)["look-ups"].holds is False


def test_a_forged_look_up_with_two_rows_for_a_key_is_noticed(bundle: Path) -> None:
    """The digest is forged as well; the file is judged again."""
    content = (bundle / "lookup_1.csv").read_bytes() + b"03,North,1\n"
    (bundle / "lookup_1.csv").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    edit_json(bundle, "request.json", lambda request: _lookup(request).update(sha256=digest))
    assert dc.verify_bundle(bundle)["look-ups"].holds is False


def _lookup(request: dict[str, Any]) -> dict[str, Any]:
    return request["tables"][0]["lookups"]["regions"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "change", [{"reads": "text"}, {"columns": {"region": "integer"}}, {"columns": {}}, {"reads": "x"}, {"sha256": "0"}]
)
def test_a_forged_statement_about_a_look_up_is_noticed(bundle: Path, change: dict[str, Any]) -> None:
    edit_json(bundle, "request.json", lambda request: _lookup(request).update(change))
    assert dc.verify_bundle(bundle, bundle.parent / "visits.ledger").holds is False


def test_a_request_that_looks_up_the_unit_is_refused(bundle: Path) -> None:
    edit(bundle, "request.json", "visits.county", "visits.person")
    assert dc.verify_bundle(bundle)["request"].holds is False


def test_a_check_of_the_declaration_finds_a_look_up_that_every_question_would_refuse(file: Path) -> None:
    declared = Declaration.open(file)
    assert check_dataset(declared) == ()
    (file.parent / "regions.csv").write_text("county,region\n1,North\n2,South\n1,South\n")
    (problem,) = check_dataset(declared)
    assert "'regions'" in problem and "'1'" in problem
    with refused(InvalidInput, "lookups"):
        dc.Dataset.open(file).plan(BY_REGION, max_groups=1, epsilon=1)
    (file.parent / "regions.csv").unlink()
    (problem,) = check_dataset(declared)
    assert "cannot read" in problem
