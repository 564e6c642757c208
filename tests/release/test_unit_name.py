"""What the protected unit is called: by the curator's name, or else by its column, and never a person on its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import BudgetExceeded, InvalidInput
from discreet.unit import Unit, read_unit_name
from support.bundles import edit_json, failing
from support.refusals import refused

BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"
SITES = {"site": range(1, 4)}


@pytest.fixture
def months(tmp_path: Path) -> Path:
    """Rows of person-months."""
    file = tmp_path / "visits.csv"
    rows = [f"{who}-{month},{site}" for who in range(30) for month in range(4) for site in (1, 2)]
    file.write_text("\n".join(["user_month,site", *rows]) + "\n", encoding="utf-8")
    return file


def ledger(folder: Path, unit: str = "user_month", epsilon: int = 100) -> dc.Ledger:
    return dc.Ledger.create(folder / f"{unit}.ledger", dataset="visits", unit=unit, epsilon=epsilon, delta="1e-3")


ASK = {"unit": "user_month", "domain": SITES, "max_groups": 1, "epsilon": 1}


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_a_unit_without_a_name_is_called_by_its_column_and_never_a_person(months, tmp_path, delta):
    """A release of person-months that claimed to protect a person would be a false guarantee."""
    more = {"mechanism": "discrete-gaussian", "delta": delta} if float(delta) else {}
    out = tmp_path / "out"
    released = dc.release_counts(BY_SITE, data=months, ledger=ledger(tmp_path), out=out, **ASK, **more)
    said = " ".join([*released.guarantee, released.plan.describe(), released.describe()])
    assert Unit("user_month").protected == "one `user_month` (all rows with the same user_month)"
    assert Unit("user_month").protected in said and Unit("user_month").with_several in said
    assert ("for k = 2" in said) == bool(float(delta))
    written = [path.read_text(encoding="utf-8") for path in out.iterdir() if path.suffix in (".md", ".html", ".json")]
    for text in (said, *written):
        assert "one person" not in text and "people" not in text
    assert dc.verify_bundle(out).passed


def test_a_named_unit_is_called_so_everywhere(months, tmp_path):
    out = tmp_path / "out"
    released = dc.release_counts(BY_SITE, data=months, ledger=ledger(tmp_path), out=out, unit_name="household", **ASK)
    assert released.guarantee == (
        "Each household is counted in one group only.",
        "Households with rows in more groups are missing from the rest, so a count can be far below the number of "
        "households with rows in its group. Noise and intervals refer to the counts after this rule. A larger "
        "contribution bound (max_groups) counts households in more groups, and adds more noise.",
        "This protects one household (all rows with the same user_month). It limits how well readers can tell whether "
        "a household is in the table, or what its values are: neighbouring tables differ by one household added or "
        "removed.",
        "If a household has rows in more groups than that, a secret key and its own rows choose which, and nothing "
        "else.",
        "Rows without a user_month, and rows outside WHERE or the declared groups, are not counted. We cannot say how "
        "many rows were left out: that number is itself private.",
        "One household changes at most one count, by one.",
        "For a reader who knows all other households, the odds that this household is in the table change at most "
        "2.72-fold.",
        "The odds between two values of this household, such as two groups, change at most 7.39-fold.",
        "A belief of 50% becomes at most 73.2% (in the table) or 88.1% (which value).",
        "An attacker who accepts 5% false alarms detects this household at most 13.6% of the time.",
        "Someone with k values of user_month has k times this epsilon.",
    )
    assert "How many households" in (out / "index.html").read_text(encoding="utf-8")
    assert json.loads((out / "request.json").read_text(encoding="utf-8"))["unit_name"] == "household"
    assert dc.verify_bundle(out).passed


def test_rows_that_are_people_need_no_bound_and_no_further_statement(months):
    """The curator states that every row is a different person, and the guarantee says who states it."""
    ask = {"data": months, "unit": "row", "unit_name": "person", "epsilon": 1}
    said = " ".join(dc.plan_release(BY_SITE, domain=SITES, **ask).guarantee)
    assert Unit("row", "person").protected in said and Unit("row").with_several in said
    assert "max_groups" not in said
    found = {"discover": "site", "delta": "1e-6"}
    by_name = dc.plan_release(BY_SITE, **ask, **found)
    ask.pop("unit_name")
    with refused(InvalidInput, "unit"):
        dc.plan_release(BY_SITE, **ask, **found)
    assert dc.plan_release(BY_SITE, one_row_each=True, **ask, **found).key == by_name.key


def test_the_name_is_no_part_of_the_key_and_a_forged_one_is_noticed(months, tmp_path):
    plans = [dc.plan_release(BY_SITE, data=months, unit_name=name, **ASK) for name in (None, "person", "device")]
    assert len({plan.key for plan in plans}) == 1 and len({plan.guarantee for plan in plans}) == 3
    out = tmp_path / "out"
    dc.release_counts(BY_SITE, data=months, ledger=ledger(tmp_path), out=out, unit_name="device", **ASK)
    edit_json(out, "request.json", lambda request: request.update(unit_name="person"))
    assert failing(out)


def test_a_ledger_keeps_the_name_of_its_first_release(months, tmp_path):
    book = ledger(tmp_path)
    ask = {"data": months, "ledger": book, **ASK}
    dc.release_counts(BY_SITE, **ask)  # without a name nothing is bound
    dc.release_counts(BY_SITE, **ask, unit_name="device", edition="2")
    left = book.left()
    with refused(InvalidInput, "unit_name", token="device"):
        dc.release_counts(BY_SITE, **ask, unit_name="person", edition="3")
    assert book.left() == left
    again = dc.release_counts(BY_SITE, **ask, unit_name="device")
    assert not again.fresh and again.guarantee[0] == "Each device is counted in one group only."
    assert "`user_month`" in dc.release_counts(BY_SITE, **ask).guarantee[0]


def test_a_release_that_cannot_be_paid_binds_no_name(months, tmp_path):
    book = ledger(tmp_path, epsilon=1)
    with pytest.raises(BudgetExceeded):
        dc.release_counts(BY_SITE, data=months, ledger=book, unit_name="person", **{**ASK, "epsilon": 2})
    assert book.entries() == []
    dc.release_counts(BY_SITE, data=months, ledger=book, unit_name="device", **ASK)


@pytest.mark.parametrize("name", ["", "row", "user_month", "person 1", "a" * 41, "x\n", "`person`", 3])
def test_what_is_no_name_is_refused(name):
    with refused(InvalidInput, "unit_name"):
        read_unit_name(name)


@pytest.mark.parametrize(
    ("name", "several", "a"),
    [
        ("person", "people", "a person"),
        ("young person", "young people", "a young person"),
        ("household", "households", "a household"),
        ("family", "families", "a family"),
        ("survey", "surveys", "a survey"),
        ("business", "businesses", "a business"),
        ("address", "addresses", "an address"),
    ],
)
def test_the_nouns_are_english(name, several, a):
    assert (Unit("x", name).several, Unit("x", name).a) == (several, a)


def test_a_request_file_says_it(months, tmp_path):
    from discreet.release.plan.request_file import open_request

    file = tmp_path / "q.toml"
    file.write_text(
        f'format = "discreet request-file"\nversion = 1\nquestions = ["{BY_SITE}"]\ndata = "visits.csv"\n'
        'unit = "user_month"\nunit_name = "device"\nmax_groups = 1\nepsilon = 1\n[domain]\nsite = "1..3"\n',
        encoding="utf-8",
    )
    assert open_request(file).request.unit_name == "device"


def test_a_dataset_fixes_the_name(months, tmp_path):
    visits = dc.Dataset(
        name="visits", data=months, unit="user_month", unit_name="device", columns=SITES, ledger=ledger(tmp_path)
    )
    plan = visits.plan(by=["site"], max_groups=1, epsilon=1)
    assert plan.guarantee[0] == "Each device is counted in one group only."
    with refused(InvalidInput, "unit_name"):
        visits.plan(by=["site"], max_groups=1, epsilon=1, unit_name="person")
    saved = dc.Dataset.open(visits.save(tmp_path / "visits.toml"))
    assert saved.declaration.unit_name == "device"
