"""What is asked and what is recorded: the bound has no default, editions and accounts, the order of groups, the plan's
decision."""

from __future__ import annotations

import json
import os
import re
import shutil
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest

import discreet as dc
from discreet.engines.sources import open_source
from discreet.errors import BudgetExceeded, InvalidInput, UnreadableFile
from discreet.exact.bits import SeededBits
from discreet.release import counts as releasing
from discreet.release.bundle.verify import verify_bundle
from discreet.release.plan.plan import plan_from_request
from discreet.release.plan.planning import plan_release
from discreet.release.tables.columns import LAYOUT
from support import command_line
from support.command_line import invoke
from support.paths import PUBLISHED
from support.refusals import refused

BEFORE = PUBLISHED / "format_1"
BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"


def run(*words: object, code: int = 0) -> str:
    """Return what a verb prints; its errors are raised."""
    return invoke(*words, code=code).stdout


# ------------------------------------------------------------------------------------------------ the bound


def test_a_person_unit_without_the_bound_is_asked_for_it_with_the_two_lines(visits: Path) -> None:
    with pytest.raises(InvalidInput) as refusal:
        plan_release(BY_SITE, data=visits, unit="person", unit_name="person", domain={"site": range(4)}, epsilon=1)
    lines = str(refusal.value).splitlines()
    assert lines[1].startswith("  max_groups=1  each person is counted in one group only")
    assert lines[2].startswith("  max_groups=4  each person is counted in every group where they have rows")
    for most in (1, 4):
        assert plan_release(
            BY_SITE, data=visits, unit="person", domain={"site": range(4)}, epsilon=1, max_groups=most
        ).tables[0].sensitivity == most  # fmt: skip


def test_on_the_command_line_the_two_lines_are_options(visits: Path) -> None:
    options = ("--data", visits, "--unit", "person", "--domain", "site=0..3", "--epsilon", 1)
    done = command_line.run("release", BY_SITE, *options, "--plan", code=2)
    assert done.stdout == ""
    assert "\n  --max-groups 1  each `person`" in done.stderr and "\n  --max-groups 4  each `person`" in done.stderr


def test_structural_zeros_and_single_groups_are_not_counted_as_several(visits: Path) -> None:
    ask = {"data": visits, "unit": "person", "epsilon": 1}
    total = plan_release("SELECT COUNT(*) FROM visits", **ask)
    assert total.protection.max_groups == 1 and total.guarantee[0] == "Each `person` is counted once."
    zeros = [{"site": 1}, {"site": 2}]
    assert plan_release(BY_SITE, domain={"site": range(3)}, zeros=zeros, **ask).protection.max_groups == 1
    with refused(InvalidInput, "max_groups"):
        plan_release(BY_SITE, domain={"site": range(3)}, zeros=zeros[:1], **ask)
    with refused(InvalidInput, "max_groups"):  # the widest of several tables
        plan_release(["SELECT COUNT(*) FROM visits", BY_SITE], domain={"site": range(4)}, **ask)


def test_with_the_row_as_unit_nothing_is_asked(visits: Path) -> None:
    plan = plan_release(BY_SITE, data=visits, unit="row", domain={"site": range(4)}, epsilon=1)
    assert plan.protection.max_groups == 1 and plan.guarantee[0].startswith("This protects one row of the table.")


@pytest.mark.parametrize(
    ("most", "first"),
    [
        (1, "Each person is counted in one group only."),
        (3, "Each person is counted in at most 3 groups."),
        (9, "Each person is counted in every group where they have rows."),
    ],
)
def test_the_bound_is_the_first_sentence_everywhere(visits: Path, book, tmp_path, most: int, first: str) -> None:
    released = dc.release_counts(
        BY_SITE, data=visits, unit="person", unit_name="person", domain={"site": range(4)}, epsilon=1, max_groups=most,
        ledger=book, out=tmp_path / "out",
    )  # fmt: skip
    assert released.guarantee[0] == first
    assert ("are missing from the rest" in " ".join(released.guarantee)) == (most < 4)
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.index(first) == min(page.index(sentence[:40].split("'")[0]) for sentence in released.guarantee)
    guarantee = (tmp_path / "out" / "GUARANTEE.md").read_text()
    assert f"\n- {first}\n" in guarantee and guarantee.index(first) < guarantee.index("This protects")
    assert json.loads((tmp_path / "out" / "release.json").read_text())["guarantee"][0] == first


def test_the_noise_is_not_called_the_distance_from_the_truth(visits: Path, book, tmp_path) -> None:
    ask = {"data": visits, "unit": "person", "domain": {"site": range(4)}, "epsilon": 1, "max_groups": 1}
    released = dc.release_counts(BY_SITE, ledger=book, out=tmp_path / "out", **ask)
    assert "noise ± 3, 95% of the time" in released.plan.describe()
    assert "noise ± 3" in (tmp_path / "out" / "index.html").read_text()
    shown = [released.plan.describe(), released.describe(), *(p.read_text() for p in (tmp_path / "out").iterdir())]
    for text in shown:
        assert not re.search(r"from the truth|of the truth|far off", text)


# ------------------------------------------------------------------------------------------------ orders


def ask_sizes(order: tuple[int, ...], **more: object) -> dict[str, object]:
    sizes = [{"site": site, "size": 10 * (site + 1)} for site in order]
    return {"unit": "person", "domain": {"site": list(order)}, "max_groups": 1, "epsilon": 2, "sizes": sizes, **more}


def test_another_order_of_the_same_groups_is_the_same_question_mapped_back_by_value(tmp_path: Path, visits) -> None:
    """Sizes (one table of probabilities each), structural zeros and counts follow the values, never the places."""
    book = dc.Ledger.create(tmp_path / "s", dataset="visits", unit="person", epsilon=2, relation="substitution")
    ask = {"data": visits, "ledger": book, "mechanism": "explicit-fair", "zeros": [{"site": 2}]}
    first = dc.release_counts(BY_SITE, **ask_sizes((3, 0, 2, 1)), **ask)
    assert first.fresh and first.paid and book.left().epsilon == 0
    known = {row["site"]: row for row in first.rows()}
    assert [row["site"] for row in first.rows()] == [3, 0, 2, 1] and known[2]["status"] == "M"
    for k, order in enumerate(permutations(range(4))):
        out = tmp_path / f"out{k}" if k % 8 == 1 else None  # a bundle takes far longer than an answer
        again = dc.release_counts(BY_SITE, **ask_sizes(order), **ask, out=out)
        assert not again.fresh and not again.paid
        assert [row["site"] for row in again.rows()] == list(order)
        assert {row["site"]: row for row in again.rows()} == known
        assert out is None or verify_bundle(out, ledger=book).holds
    assert len(book.entries()) == 1
    with pytest.raises(BudgetExceeded):  # other sizes are another question
        dc.release_counts(
            BY_SITE, **{**ask_sizes((3, 0, 2, 1)), "sizes": [{"site": s, "size": 9} for s in range(4)]}, **ask
        )


def test_the_true_counts_do_not_depend_on_the_order_either(tmp_path: Path) -> None:
    """Bounding goes round the groups: with many epsilons the same key must give the same counts in every order."""
    visits = tmp_path / "visits.csv"  # forty people, each at two of four sites
    rows = [f"{person},{site}\n" for person in range(40) for site in (person % 4, (person + 1) % 4)]
    visits.write_text("person,site\n" + "".join(rows))
    found = []
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        plan = plan_release(
            "SELECT site, COUNT(*), COUNT_IF(person < 20) AS low FROM visits GROUP BY site",
            data=visits, unit="person", domain={"site": order}, max_groups=1, epsilon=1,
        )  # fmt: skip
        (counts,) = open_source(visits).count(releasing.countings(plan.canonical, b"key"))
        found.append(counts.tolist())
    assert found[0] == found[1] and sum(row[0] for row in found[0]) == 40


def test_listed_groups_measures_nulls_and_withheld_counts_go_back_by_value(tmp_path: Path) -> None:
    table = tmp_path / "visits.csv"
    table.write_text("person,site,sex\n" + "".join(f"{p},{p % 3 or ''},{'fm'[p % 2]}\n" for p in range(60)))
    book = dc.Ledger.create(tmp_path / "v", dataset="visits", unit="person", epsilon=40)
    sql = "SELECT site, sex, COUNT(*), COUNT_IF(person < 30) AS low FROM visits GROUP BY site, sex"
    groups = [(1, "f"), (None, "m"), (2, "m"), (1, "m"), (None, "f")]
    ask = {"data": table, "unit": "person", "max_groups": 1, "epsilon": 40, "ledger": book, "suppress_below": 8}
    first = dc.release_counts(sql, groups=groups, **ask)
    cells = {(row["site"], row["sex"], row["measure"]): (row["count"], row["status"]) for row in first.rows()}
    assert {status for _, status in cells.values()} == {"A", "Q"}
    again = dc.release_counts(sql, groups=groups[::-1], **ask)
    assert not again.fresh and [row["site"] for row in again.rows()][::2] == [None, 1, 2, None, 1]
    assert cells == {(r["site"], r["sex"], r["measure"]): (r["count"], r["status"]) for r in again.rows()}


def test_a_product_that_is_listed_is_the_same_question_as_its_domains() -> None:
    ask = {"data": "v", "unit": "person", "max_groups": 1, "epsilon": 1}
    sql = "SELECT a, b, COUNT(*) FROM v GROUP BY a, b"
    product = plan_release(sql, domain={"a": [2, 1], "b": ["y", "x"]}, **ask)
    listed = plan_release(sql, groups=[(1, "x"), (2, "y"), (2, "x"), (1, "y")], **ask)
    assert product.key == listed.key and product.request != listed.request
    assert plan_from_request(product.request).key == product.key
    other = plan_release(sql, groups=[(1, "x"), (2, "y"), (2, "x")], **ask)
    assert other.key != product.key


def test_an_answer_recorded_in_declared_order_by_an_older_program_is_found(tmp_path: Path) -> None:
    old = dc.Ledger.open(shutil.copy(BEFORE / "ledger.sqlite", tmp_path / "old.ledger"))
    table = tmp_path / "visits.csv"
    table.write_text("person,edition,site\n")
    again = dc.release_counts(
        "SELECT edition, site, COUNT(*) FROM visits GROUP BY edition, site", data=table, unit="person", max_groups=1,
        domain={"edition": ["b", "a"], "site": [2, 0, 1]}, zeros=[{"edition": "a", "site": 0}], epsilon=1,
        edition="spring", ledger=old,
    )  # fmt: skip
    written = (BEFORE / "by_site" / "counts.csv").read_text().splitlines()[1:]
    assert not again.fresh and [str(row["count"]) for row in again.rows()] == [line.split(",")[2] for line in written]


# ------------------------------------------------------------------------------------------------ bundles of before


def test_a_bundle_written_before_still_verifies_and_says_what_was_not_compared(tmp_path: Path) -> None:
    old = shutil.copy(BEFORE / "ledger.sqlite", tmp_path / "old.ledger")
    report = verify_bundle(BEFORE / "by_site", ledger=old)
    assert report.holds, str(report)
    assert {check.name for check in report.undecided} <= {"words", "page", "pictures"}
    assert "0.1.0" in report["words"].sentence and "NOT checked" in report["page"].sentence


def test_an_unknown_layout_is_refused_with_a_clear_message(tmp_path: Path) -> None:
    shutil.copytree(BEFORE / "by_site", tmp_path / "b")
    statement = tmp_path / "b" / "release.json"
    statement.write_text(statement.read_text().replace('"version": 1,', f'"version": {LAYOUT + 1},', 1))
    report = verify_bundle(tmp_path / "b")
    assert not report.holds and f"version '{LAYOUT + 1}'" in report["counts"].sentence


# ------------------------------------------------------------------------------------------------ editions


def words(visits: Path, book: dc.Ledger, *more: object) -> list[object]:
    return [
        "release", BY_SITE, "--data", visits, "--unit", "person", "--domain", "site=0..3", "--max-groups", 1,
        "--epsilon", 1, "--ledger", book.name, *more,
    ]  # fmt: skip


def test_the_edition_is_said_everywhere(visits: Path, book, tmp_path) -> None:
    out = tmp_path / "out"
    printed = run(*words(visits, book, "--edition", "spring, 2026", "-o", out))
    assert "edition spring, 2026\n" in printed
    assert "data       visits, edition spring, 2026\n" in run(
        *words(visits, book, "--edition", "spring, 2026", "--plan")
    )
    lines = (out / "counts.csv").read_text().splitlines()
    assert lines[0].startswith("edition,site,count,") and all(line.startswith('"spring, 2026",') for line in lines[1:])
    assert "edition spring, 2026" in (out / "index.html").read_text().split("</header>")[0]
    assert "edition spring, 2026." in (out / "GUARANTEE.md").read_text()
    assert "spring, 2026" in run("ledger", "show", book.name)
    assert json.loads(run("ledger", "show", book.name, "--json"))["entries"][0]["edition"] == "spring, 2026"
    assert json.loads(run(*words(visits, book, "--edition", "spring, 2026", "--json")))["edition"] == "spring, 2026"
    assert verify_bundle(out, ledger=book).holds
    (out / "counts.csv").write_text((out / "counts.csv").read_text().replace("spring", "autumn"))
    assert not verify_bundle(out)["counts"].holds


def test_a_total_with_an_edition_and_a_column_called_edition(visits: Path, book, tmp_path) -> None:
    dc.release_counts(
        "SELECT COUNT(*) FROM visits", data=visits, unit="person", epsilon=1, edition="e", ledger=book,
        out=tmp_path / "total",
    )  # fmt: skip
    assert (tmp_path / "total" / "counts.csv").read_text().startswith("edition,count,status,")
    assert verify_bundle(tmp_path / "total", ledger=book).holds
    plan = plan_release(
        "SELECT edition, COUNT(*) FROM x GROUP BY edition", data="x", unit="row", domain={"edition": [1]}, epsilon=1,
        edition="e",
    )  # fmt: skip
    (asked,) = plan.tables
    table = asked.from_record({"counts": [5]}, asked.to_json(), plan.level, plan.edition)
    assert table.headings[:2] == ("edition", "group_edition")


def test_a_recorded_answer_says_since_when_for_which_edition_and_how_to_ask_anew(visits: Path, book, tmp_path) -> None:
    first = run(*words(visits, book, "-o", tmp_path / "a"))
    assert "\nspent epsilon 1; left" in first and "the recorded answer" not in first
    again = run(*words(visits, book, "-o", tmp_path / "b"))
    when = book.entries()[0].committed.time.replace("T", " ").removesuffix("Z")
    assert f"answer of {when} UTC" in again
    assert "--edition NAME" in again
    said = json.loads(run(*words(visits, book, "--json")))
    assert said["recorded"] is True and said["left"]["epsilon"] == "99"
    assert json.loads(run(*words(visits, book, "--json", "--edition", "2")))["recorded"] is False


def test_another_process_that_spends_does_not_make_an_answer_look_fresh(visits: Path, book, monkeypatch) -> None:
    """Whether it was recorded is known by the ledger, not inferred from the balance."""
    ask = {"data": visits, "unit": "person", "domain": {"site": range(4)}, "epsilon": 1, "max_groups": 1}
    dc.release_counts(BY_SITE, ledger=book, **ask)
    recall = releasing.release_from_record

    def meanwhile(*given):
        book.reserve("another", {}, dc.Ledger.open(book.name).left())
        return recall(*given)

    monkeypatch.setattr(releasing, "release_from_record", meanwhile)
    assert not dc.release_counts(BY_SITE, ledger=book, **ask).fresh


def test_a_file_changed_since_is_warned_of_on_the_terminal_only(visits: Path, book, tmp_path) -> None:
    recorded = run(*words(visits, book, "-o", tmp_path / "a"))
    assert "warning" not in recorded
    os.utime(visits, (2_000_000_000, 2_000_000_000))
    events = book.events()
    done = invoke(*words(visits, book, "--json", "-o", tmp_path / "b"))
    assert "2033-05-18 03:33:20 UTC" in done.stderr
    assert "2033" not in done.stdout and "warning" not in done.stdout and book.events() == events
    names = {file.name for file in (tmp_path / "a").iterdir()}
    assert names and names == {file.name for file in (tmp_path / "b").iterdir()}
    for file in (tmp_path / "b").iterdir():
        assert b"2033-05" not in file.read_bytes() and file.read_bytes() == (tmp_path / "a" / file.name).read_bytes()
    fresh = invoke(*words(visits, book, "--json", "--edition", "new"))
    assert "warning" not in fresh.stderr  # it was counted just now


# ------------------------------------------------------------------------------------------------ one account


def test_files_of_the_same_people_share_one_account_by_name_and_edition(visits: Path, book, tmp_path) -> None:
    second = tmp_path / "visits_q2.csv"
    shutil.copy(visits, second)
    sql = BY_SITE.replace("visits", "visits_q2")
    ask = {"data": second, "unit": "person", "domain": {"site": range(4)}, "epsilon": 1, "max_groups": 1}
    with pytest.raises(InvalidInput) as refusal:
        dc.release_counts(sql, ledger=book, **ask)
    assert "edition='visits_q2'" in str(refusal.value)
    assert "another ledger" not in str(refusal.value)
    with refused(InvalidInput, "dataset"):
        dc.release_counts(sql, ledger=book, dataset="visits", **ask)
    assert book.entries() == []
    released = dc.release_counts(sql, ledger=book, dataset="visits", edition="q2", **ask)
    assert released.plan.dataset == "visits" and book.left().epsilon == 99


def test_the_second_quarter_never_gets_the_recorded_answer_of_the_first(tmp_path: Path) -> None:
    """Databases with a table of the same name: only the edition tells them apart, so it is mandatory."""
    import duckdb

    book = dc.Ledger.create(tmp_path / "l", dataset="study", unit="person", epsilon=100)
    found = []
    for quarter, people in (("q1", 10), ("q2", 70)):
        with duckdb.connect(tmp_path / f"{quarter}.duckdb") as database:
            database.execute(f"CREATE TABLE visits AS SELECT range AS person FROM range({people})")
        released = dc.release_counts(
            "SELECT COUNT(*) FROM visits", data=tmp_path / f"{quarter}.duckdb", unit="person", epsilon=40, ledger=book,
            dataset="study", edition=quarter,
        )  # fmt: skip
        found.append((released.fresh, released.rows()[0]["count"]))
    assert found == [(True, 10), (True, 70)]


def test_the_account_can_be_named_when_the_ledger_is_made(visits: Path, tmp_path) -> None:
    run("ledger", "init", tmp_path / "l", "--data", visits, "--dataset", "study", "--unit", "person", "--epsilon", 1)
    assert dc.Ledger.open(tmp_path / "l").terms.dataset == "study"


@pytest.mark.parametrize(("unit", "relation"), [("row", "add-remove"), ("person", "substitution")])
def test_no_refusal_of_terms_advises_another_ledger_for_the_same_people(book, unit: str, relation: str) -> None:
    with refused(InvalidInput, "unit" if unit == "row" else "relation") as refusal:
        book.check_terms("visits", unit, relation)
    assert "another ledger" not in str(refusal.value)


# ------------------------------------------------------------------------------------------------ the plan decides


def test_a_plan_with_a_ledger_says_paid_recorded_or_refused_with_the_exit_code_of_the_release(
    visits: Path, book, tmp_path
) -> None:
    plan = words(visits, book, "--plan")
    assert "would be paid; epsilon 99" in run(*plan)
    assert book.entries() == []
    run(*words(visits, book, "-o", tmp_path / "a"))
    assert "decision   recorded already, on 20" in run(*plan) and ": free; epsilon 99 is left" in run(*plan)
    large = words(visits, book, "--plan", "--edition", "x")
    large[large.index("--epsilon") + 1] = 99.5
    assert "epsilon 0.5 is missing" in run(*large, code=1)
    said = json.loads(run(*large, "--json", code=1))["decision"]
    assert said["verdict"] == "refused" and said["missing"]["epsilon"] == "1/2" and said["left"]["epsilon"] == "99"
    with refused(BudgetExceeded, token="epsilon 99.5 ... 99 of 100"):  # the real thing: exit 1
        run(*[word for word in large if word != "--plan"], "-o", tmp_path / "b")
    assert len(book.entries()) == 1


@pytest.mark.parametrize("ledger", [True, False])
@pytest.mark.parametrize("folder", [True, False])
def test_a_plan_says_what_is_missing_to_release_and_nothing_else(
    visits: Path, book, tmp_path, ledger: bool, folder: bool
) -> None:
    asked = words(visits, book, "--plan", *(["-o", tmp_path / "out"] if folder else []))
    if not ledger:
        place = asked.index("--ledger")
        del asked[place : place + 2]
    wanted = [option for option, given in (("--ledger", ledger), ("-o", folder)) if not given]
    more = f" and give {' and '.join(wanted)}" if wanted else ""
    said = run(*asked, "--write", tmp_path / "w.toml").splitlines()
    assert said[-2] == f"no row was read and nothing was spent; to release, leave --plan out{more}"
    line = f"to release: discreet release {tmp_path / 'w.toml'}"
    assert said[-1].endswith(line + ("" if ledger else " --ledger PATH") + ("" if folder else " -o FOLDER"))
    again = run("release", tmp_path / "w.toml", "--plan").splitlines()  # a file that says the same
    assert again[-1] == said[-2]
    # and the line releases, once its places are filled in
    places = {"PATH": book.name, "FOLDER": tmp_path / "out"}
    run(
        "release",
        tmp_path / "w.toml",
        *(places.get(word, word) for word in said[-1].partition("w.toml;")[2].split()[5:]),
    )
    assert (tmp_path / "out" / "counts.csv").is_file()


def test_a_plan_that_is_refused_names_no_way_to_release_it(visits: Path, book, tmp_path) -> None:
    asked = words(visits, book, "--plan", "--write", tmp_path / "w.toml")
    asked[asked.index("--epsilon") + 1] = 101
    said = run(*asked, code=1)
    assert "to release" not in said and said.splitlines()[-1] == f"written to {tmp_path / 'w.toml'}"


def test_a_plan_says_which_files_are_missing(visits: Path, book, tmp_path) -> None:
    gone = tmp_path / "gone.csv"
    asked = [gone if word == visits else word for word in words(visits, book, "--plan")]
    with refused(UnreadableFile, token="gone.csv"):
        run(*asked)
    alone = asked[: asked.index("--ledger")]
    assert f"there is no file {gone}" in " ".join(run(*alone, "--plan").split())
    missing = [word if word != book.name else tmp_path / "no.ledger" for word in words(visits, book, "--plan")]
    with refused(UnreadableFile, token="no.ledger"):
        run(*missing)


def test_under_zcdp_a_plan_says_how_much_rho_is_missing(visits: Path, tmp_path) -> None:
    book = dc.Ledger.create(tmp_path / "z", dataset="visits", unit="person", epsilon="0.5", delta="1e-6", filter="zcdp")
    plan = plan_release(BY_SITE, data=visits, unit="person", max_groups=1, domain={"site": range(4)}, epsilon=1)
    outlook = releasing.preview_release(plan, open_source(visits), book)
    assert outlook.verdict == "refused" and outlook.missing.rho == plan.cost.concentrated() - book.left().rho > 0
    small = plan_release(BY_SITE, data=visits, unit="person", max_groups=1, domain={"site": range(4)}, epsilon="0.01")
    assert releasing.preview_release(small, open_source(visits), book).verdict == "paid"
    assert book.quote(small.cost)[0].rho == book.left().rho - small.cost.concentrated()


def test_a_plan_can_be_written_as_a_page_with_the_decision(visits: Path, book, tmp_path) -> None:
    page = tmp_path / "plan.html"
    assert f"written to {page}" in run(*words(visits, book, "--plan", "--page", page))
    text = page.read_text()
    assert "would be paid; epsilon 99 is left in" in text and "Each `person` is counted" in text
    with refused(InvalidInput, "page"):
        run(*words(visits, book, "--page", page))
    with refused(InvalidInput, allowed="a file whose name ends in .html"):
        run(*words(visits, book, "--plan", "--page", tmp_path / "plan.pdf"))


def test_what_the_plan_foresees_is_what_happens(visits: Path, book) -> None:
    ask = {"data": visits, "unit": "person", "domain": {"site": range(4)}, "max_groups": 1}
    source, verdicts = open_source(visits), []
    for epsilon in (Fraction(40), Fraction(40), Fraction(60), Fraction(1, 100), Fraction(60)):
        plan = plan_release(BY_SITE, epsilon=epsilon, **ask)
        outlook, before = releasing.preview_release(plan, open_source(visits), book), book.left().epsilon
        verdicts.append(outlook.verdict)
        if outlook.verdict == "refused":
            with pytest.raises(BudgetExceeded):
                releasing._release(plan, source, book, None, SeededBits(1))
            assert book.left().epsilon == before and outlook.missing.epsilon == epsilon - before
        else:
            released = releasing._release(plan, source, book, None, SeededBits(1))
            assert released.fresh == (outlook.verdict == "paid") and book.left().epsilon == outlook.left.epsilon
    assert verdicts == ["paid", "recorded", "paid", "refused", "recorded"]
