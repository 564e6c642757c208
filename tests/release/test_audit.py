"""The check of a bundle believes nothing that it says of itself; the ledger shows what it cannot."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from decimal import ROUND_CEILING
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import InvalidInput, UnreadableFile
from discreet.pages.html import page, pictures_of
from discreet.pages.pictures import NO_PROGRAM, NOT_DRAWN, drawing_program, is_plain_svg, pictures_in
from discreet.release.bundle import verify as audit
from discreet.release.bundle.released import Release
from discreet.release.bundle.verify import verify_bundle
from discreet.release.bundle.write import write_bundle
from discreet.release.tables import columns, released
from support.bundles import BY_BOTH, FILES, ZEROS, answered, edit, edit_json, failing, seal
from support.refusals import refused

# ------------------------------------------------------------------------------------------------ checking


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"zeros": ZEROS, "suppress_below": 50},
        {"questions": [BY_BOTH, "SELECT COUNT(*) FROM visits"], "split": [2, 1]},
        {"questions": "SELECT site, COUNT(*) AS n, COUNT_IF(health = 'poor') AS poor FROM visits GROUP BY site",
         "domain": {"site": range(1, 4)}},
        {"counts": "signed"},
        {"mechanism": "explicit-fair", "bound": 70},
        {"mechanism": "discrete-gaussian", "delta": "1e-6"},
        {"domain": {"site": [1], "health": ["=1+1", "a,\"b\"\nc", "NULL", None, "'", "<i>", "\x1b[2J", "😀" * 90]}},
    ],
)  # fmt: skip
def test_an_untouched_bundle_holds(tmp_path, options):
    book = dc.Ledger.create(tmp_path / "v.ledger", dataset="visits", unit="person", epsilon=100, delta="1e-3")
    answered(book, tmp_path / "out", **options)
    report = verify_bundle(tmp_path / "out", tmp_path / "v.ledger")
    assert report.holds and not report.undecided, str(report)
    assert [check.name for check in report.checks] == [
        "checksums", "request", "files", "cost", "mechanisms", "counts", "statement", "errors", "words", "page",
        "pictures", "ledger",
    ]  # fmt: skip
    assert json.loads(json.dumps(report.to_json()))["holds"] is True


def first_line(folder: Path, flag: str = "A") -> str:
    return next(line for line in (folder / "counts.csv").read_text().splitlines() if f",{flag}," in line)


def with_column(line: str, number: int, value: str) -> str:
    cells = line.split(",")
    cells[number] = value
    return ",".join(cells)


COLUMN = {"site": 0, "health": 1, "count": 2, "status": 3, "low": 4, "high": 5, "sd": 6, "bias_high": 8, "exact": 9}


@pytest.mark.parametrize(
    ("column", "flag", "value", "check"),
    [
        ("count", "A", "57", "errors"),
        ("count", "A", "-4", "counts"),
        ("count", "A", "+57", "counts"),
        ("count", "A", "0_1", "counts"),
        ("count", "A", "x", "counts"),
        ("count", "A", "9" * 30, "counts"),
        ("count", "A", "49", "counts"),  # below the threshold of suppression
        ("count", "Q", "55", "counts"),
        ("count", "M", "1", "counts"),
        ("status", "A", "M", "counts"),
        ("status", "A", "Q", "counts"),
        ("status", "A", "B", "counts"),
        ("status", "M", "A", "counts"),
        ("site", "A", "9", "counts"),
        ("health", "A", "excellent", "counts"),
        ("low", "A", "0", "errors"),
        ("high", "A", "50", "errors"),
        ("sd", "A", "0.1", "errors"),
        ("bias_high", "A", "0", "errors"),
        ("exact", "A", "0.99", "errors"),
        ("exact", "A", "nan", "errors"),
        ("exact", "A", "", "errors"),
        ("sd", "Q", "1", "errors"),
    ],
)
def test_one_changed_value_is_found_by_its_own_check(out, column, flag, value, check):
    line = first_line(out, flag)
    edit(out, "counts.csv", line, with_column(line, COLUMN[column], value))
    assert check in failing(out)


def test_error_columns_may_differ_in_the_last_digits_of_another_machine(out):
    line = first_line(out)
    sd = line.split(",")[6]
    edit(out, "counts.csv", line, with_column(line, 6, sd[:-1] + str((int(sd[-1]) + 1) % 10)))
    assert not failing(out)


def test_lines_that_are_missing_added_or_swapped_are_found(out):
    lines = (out / "counts.csv").read_text().splitlines(keepends=True)
    for change in (lines[:-1], [*lines, lines[-1]], [lines[0], lines[2], lines[1], *lines[3:]], lines[1:]):
        (out / "counts.csv").write_text("".join(change))
        seal(out)
        assert failing(out) == {"counts"}


def change_epsilon(request):
    request["epsilon"] = "1/2"


def change_unit(request):
    request["unit"] = "row"


def change_question(request):
    request["tables"][0]["question"] = request["tables"][0]["question"].replace("GROUP", "WHERE site = 2 GROUP")


def drop_a_zero(request):
    request["tables"][0]["groups"]["zeros"] = []


def add_a_word(request):
    request["approved_by"] = "the board"


def change_level(request):
    request["level"] = "99/100"


def weaken_noise(request):
    request["tables"][0]["noise"]["mechanisms"][0]["parameters"]["alpha"] = "1/100"


@pytest.mark.parametrize(
    "change", [change_epsilon, change_unit, change_question, drop_a_zero, add_a_word, change_level, weaken_noise]
)
def test_a_changed_request_does_not_hold(out, paid, change):
    edit_json(out, "request.json", change)
    assert failing(out) and failing(out, paid)


def set_cost(stated):
    stated["cost"]["epsilon"] = "1/10"


def set_rho(stated):
    stated["cost"]["rho"] = "0"


def set_relation(stated):
    stated["relation"] = "substitution"


def set_touched(stated):
    stated["cells_moved_by_one_unit"] = [0]


def set_file(stated):
    stated["tables"][0]["file"] = "../../etc/passwd"


def set_sentence(stated):
    stated["guarantee"][0] = "Everything is anonymous."


def set_legend(stated):
    stated["status_meaning"]["Q"] = "zero"


def add_claim(stated):
    stated["certified"] = True


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (set_cost, "cost"), (set_rho, "cost"), (set_relation, "statement"), (set_touched, "statement"),
        (set_file, "statement"), (set_sentence, "words"), (set_legend, "words"), (add_claim, "statement"),
    ],
)  # fmt: skip
def test_what_a_bundle_says_of_itself_is_not_believed(out, change, check):
    edit_json(out, "release.json", change)
    assert check in failing(out)


def test_another_mechanism_than_the_requests_is_found(out):
    dc.two_sided_geometric(epsilon=3).save(out / "mechanism.json")
    seal(out)
    assert failing(out) == {"mechanisms", "words"}


def test_words_and_pictures_for_people_are_compared(out, tmp_path):
    for number, (name, old, new, check) in enumerate(
        [
            ("GUARANTEE.md", "at most 2.72", "at most 1.01", "words"),
            ("index.html", "at most 2.72", "at most 1.01", "page"),
            ("index.html", "</main>", "<script>alert(1)</script></main>", "page"),
            ("index.html", "</svg>", "<circle r='9'/></svg>", "pictures"),
        ]
    ):
        folder = tmp_path / f"copy{number}"
        shutil.copytree(out, folder)
        edit(folder, name, old, new)
        assert failing(folder) == {check}


def replace_picture(folder: Path, program: str, drawing: str) -> None:
    (picture,) = pictures_in((folder / "index.html").read_text(encoding="utf-8"))
    edit(folder, "index.html", picture, f"<!--picture {program}-->{drawing}<!--/picture-->")


@pytest.mark.parametrize("program", [drawing_program(), "vl-convert 0.1", "none", ""])
def test_naming_another_drawing_program_does_not_make_an_altered_picture_pass(out, program):
    replace_picture(out, program, "<svg xmlns='http://www.w3.org/2000/svg'><circle r='9'/></svg>")
    assert "pictures" in failing(out)


def test_without_a_drawing_program_pictures_are_not_checked_and_the_report_says_so(out, monkeypatch):
    monkeypatch.setattr(audit, "drawing_program", lambda: NO_PROGRAM)
    monkeypatch.setattr(audit, "draw_picture", lambda picture, number: NOT_DRAWN)
    report = verify_bundle(out)
    assert report.holds and report["pictures"].holds is None and "NOT checked" in report["pictures"].sentence


def test_a_bundle_that_was_written_without_a_drawing_program_holds(out):
    report = verify_bundle(out).release.report()
    bare = page(report, [NOT_DRAWN] * len(pictures_of(report)))
    (out / "index.html").write_text(bare, encoding="utf-8")
    seal(out)
    assert verify_bundle(out).holds and "has no pictures" in verify_bundle(out)["pictures"].sentence


def test_a_page_without_pictures_is_called_that_where_nothing_can_be_drawn(out, monkeypatch):
    """Without a drawing program each picture "drawn again" is no picture, which must not count as a comparison."""
    report = verify_bundle(out).release.report()
    (out / "index.html").write_text(page(report, [NOT_DRAWN] * len(pictures_of(report))), encoding="utf-8")
    seal(out)
    monkeypatch.setattr(audit, "drawing_program", lambda: NO_PROGRAM)
    monkeypatch.setattr(audit, "draw_picture", lambda picture, number: NOT_DRAWN)
    finding = verify_bundle(out)["pictures"]
    assert finding.holds and "has no pictures" in finding.sentence and "drawn again" not in finding.sentence


def test_words_of_another_version_are_left_open_and_its_numbers_are_not(out):
    edit_json(out, "release.json", lambda stated: stated["program"].update(version="9.9"))
    edit(out, "GUARANTEE.md", "for everything in this folder", "in all")
    report = verify_bundle(out)
    assert report.holds and report["words"].holds is None and "9.9" in report["words"].sentence
    edit_json(out, "release.json", set_cost)
    assert "cost" in failing(out)


def later(stated):
    stated.update(template=stated["template"] + 1, program={"name": "discreet", "version": "99.0"})


def test_a_page_of_another_version_is_left_open_and_said_not_to_be_checked(out):
    """A later program may have another template: the page of this bundle is then no longer compared word for word."""
    edit_json(out, "release.json", later)
    edit(out, "index.html", "<main>", "<main class='later'>")
    report = verify_bundle(out)
    assert report.holds and report["page"].holds is None and "NOT checked" in report["page"].sentence


def test_a_version_has_one_template_and_one_layout(out):
    """Otherwise whoever alters a page would state another template, and no page would be compared."""
    edit_json(out, "release.json", lambda stated: stated.update(template=stated["template"] + 1))
    assert failing(out) == {"page"}


@pytest.mark.parametrize(
    "more",
    [
        "<form action='x'><input></form>",
        "<style>.facts{display:none}</style>",
        "<svg><a href='https://evil.example'>x</a></svg>",
        "<svg><foreignObject><p>epsilon is 0</p></foreignObject></svg>",
        "<svg><rect onclick='x()'/></svg>",
        "<svg><rect fill='url(https://evil.example)'/></svg>",
        "<svg/><meta http-equiv='refresh' content='0;url=https://evil.example'>",
        "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg>&a;</svg>",
    ],
)
def test_a_picture_that_is_more_than_a_drawing_is_refused_whatever_program_it_names(out, more):
    replace_picture(out, "vl-convert 9.9.9", more)
    assert "page" in failing(out)


def test_the_pictures_of_this_program_are_plain_drawings(out):
    assert all(map(is_plain_svg, pictures_in((out / "index.html").read_text(encoding="utf-8"))))


def test_a_page_in_the_same_frame_is_compared_byte_for_byte(out):
    edit(out, "index.html", "<main>", "<main >")
    assert failing(out) == {"page"}


@pytest.mark.parametrize("template", [None, 0, "1", True, 1.0])
def test_a_bundle_that_does_not_state_its_template_does_not_hold(out, template):
    edit_json(out, "release.json", lambda stated: stated.update(template=template))
    assert failing(out) == {"statement"}


def test_files_that_were_changed_added_or_taken_away_are_found(out, tmp_path):
    for number, change in enumerate(
        [
            lambda folder: (folder / "GUARANTEE.md").write_text("Trust us."),
            lambda folder: (folder / "extra.txt").write_text("more"),
            lambda folder: (folder / "mechanism.json").unlink(),
            lambda folder: (folder / "SHA256SUMS").unlink(),
        ]
    ):
        folder = tmp_path / f"copy{number}"
        shutil.copytree(out, folder)
        change(folder)
        assert "checksums" in failing(folder)
    for number, name in enumerate(sorted(FILES - {"request.json", "SHA256SUMS"})):
        folder = tmp_path / f"without{number}"
        shutil.copytree(out, folder)
        (folder / name).unlink()
        seal(folder)
        assert failing(folder)


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("junk", [b"", b"\xff\xfe\x00", b"[]", b"[" * 100_000, b'{"tables": 1}', b"9" * 9999])
def test_junk_is_a_finding_and_never_a_crash(out, name, junk):
    (out / name).write_bytes(junk)
    if name != "SHA256SUMS":
        seal(out)
    assert failing(out)


# ------------------------------------------------------------------------------------------------ the ledger


def consistent_forgery(release: Release) -> Release:
    """Other counts, with everything that follows from them."""
    table = release.tables[0]
    counts = table.counts + (table.status == "A") * 10
    return replace(release, tables=(replace(table, counts=counts),))


def test_a_consistent_forgery_is_found_by_the_ledger_and_by_nothing_else(make, book, tmp_path):
    write_bundle(consistent_forgery(make()), tmp_path / "forged")
    alone = verify_bundle(tmp_path / "forged")
    assert alone.holds and alone["ledger"].holds is None
    assert "Only the ledger can show" in alone["ledger"].sentence
    assert failing(tmp_path / "forged", book) == {"ledger"}
    assert "recorded" in verify_bundle(tmp_path / "forged", book)["ledger"].sentence


def test_a_forged_receipt_is_found(out, paid):
    edit_json(out, "release.json", lambda stated: stated["ledger"].update(time="2020-01-01T00:00:00Z"))
    assert "ledger" in failing(out, paid)


def test_an_older_copy_of_the_ledger_shows(make, book, tmp_path):
    shutil.copy(tmp_path / "visits.ledger", tmp_path / "backup.ledger")
    make(tmp_path / "out")
    assert failing(tmp_path / "out", tmp_path / "visits.ledger") == set()
    assert failing(tmp_path / "out", tmp_path / "backup.ledger") == {"ledger"}


def test_another_ledger_and_a_damaged_one_show(out, tmp_path):
    dc.Ledger.create(tmp_path / "other.ledger", dataset="visits", unit="person", epsilon=3)
    (tmp_path / "damaged.ledger").write_bytes(b"no database")
    assert failing(out, tmp_path / "other.ledger") == {"ledger"}
    assert failing(out, tmp_path / "damaged.ledger") == {"ledger"}
    with refused(UnreadableFile, "ledger"):
        verify_bundle(out, tmp_path / "none.ledger")


def test_what_is_no_bundle_is_refused(tmp_path, out):
    (tmp_path / "empty").mkdir()
    with refused(UnreadableFile, token="no request.json"):
        verify_bundle(tmp_path / "empty")
    with refused(UnreadableFile, token="bundle"):
        verify_bundle(tmp_path / "nowhere")


def test_only_the_plain_files_that_follow_from_the_request_may_be_there(out, tmp_path):
    """A further file could say anything, such as an exact count, and would seem to be part of what was checked."""
    changes = {
        "listed": lambda folder: (folder / "exact.csv").write_text("site,count\n3,4711\n"),
        "like a table": lambda folder: (folder / "counts_rounded.csv").write_text("site,count\n3,4711\n"),
        "like a mechanism": lambda folder: shutil.copy(folder / "mechanism.json", folder / "mechanism_2.json"),
        "folder": lambda folder: (folder / "more").mkdir(),
        "link": lambda folder: (folder / "more").symlink_to("GUARANTEE.md"),
        "link in place of a file": lambda folder: (
            (folder / "GUARANTEE.md").rename(tmp_path / "other"),
            (folder / "GUARANTEE.md").symlink_to(tmp_path / "other"),
        ),
    }
    for name, change in changes.items():
        folder = tmp_path / name
        shutil.copytree(out, folder)
        change(folder)
        seal(folder)
        assert "files" in failing(folder), name


def test_one_file_of_a_bundle_points_to_its_folder_and_a_mechanism_stands_for_itself(out):
    for name in FILES - {"mechanism.json"}:
        with refused(InvalidInput, token=f"dc.verify('{out}')"):
            dc.verify(out / name)
    assert dc.verify(out / "mechanism.json").claim_holds


@pytest.mark.parametrize("since", [1, columns.LAYOUT + 1])
def test_a_column_that_later_programs_add_leaves_published_bundles_as_they_are(out, paid, monkeypatch, since):
    before = released.ERROR_COLUMNS
    later = columns.ErrorColumn("widest", "sd", "a column that a later program adds", ROUND_CEILING, since=since)
    monkeypatch.setattr(released, "ERROR_COLUMNS", (*before, later))
    monkeypatch.setattr(audit, "LAYOUT", columns.LAYOUT + 1)
    monkeypatch.setattr(dc, "__version__", "9.9.9")
    if since > columns.LAYOUT:
        report = verify_bundle(out, paid)
        assert report.holds and report["errors"].holds and report["ledger"].holds
        table = replace(report.release.tables[0], layout=since)
        assert table.headings[-1] == "widest" and "widest" in table.csv_text().partition("\n")[0]
        assert report.release.tables[0].headings == table.headings[:-1]
    else:  # a column that is said to have always been there is missed
        assert failing(out, paid) == {"counts"}
