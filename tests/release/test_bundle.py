"""The bundle: safe and lossless files that appear at once."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInput
from discreet.release.bundle import write as bundle
from discreet.release.bundle.verify import verify_bundle
from discreet.release.bundle.write import refuse_occupied, write_bundle
from discreet.release.tables.csv_text import csv_label
from discreet.release.tables.released import ReleasedTable
from support.bundles import FILES
from support.refusals import refused
from support.tiers import examples

# ------------------------------------------------------------------------------------------------ CSV

LABEL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)


@examples(300)
@given(st.lists(st.one_of(st.none(), st.integers(-9, 9), st.text(), st.sampled_from(["NULL", "=1+1", "'", " -2"]))))
def test_labels_are_lossless_and_no_formula(values):
    line = ",".join(map(csv_label, values))
    cells = next(csv.reader(io.StringIO(line, newline=""), strict=True), [""]) if values else []
    assert len(cells) == len(values)
    for cell, value in zip(cells, values, strict=True):
        if isinstance(value, int):
            assert int(cell) == value
            continue
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")) and cell[:1] not in (
            "\t",
            "\r",
        )
        assert (None if cell == "NULL" else cell.removeprefix("'") if cell[:1] == "'" else cell) == value


@examples(60)
@given(
    labels=st.lists(
        st.one_of(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5), st.none()),
        min_size=1,
        max_size=6,
        unique=True,
    ),
    listed=st.booleans(),
    several=st.booleans(),
    reports=st.lists(st.integers(-5, 8), min_size=24, max_size=24),
    threshold=st.one_of(st.none(), st.integers(-3, 6)),
    sizes=st.one_of(st.none(), st.lists(st.integers(0, 9), min_size=24, max_size=24)),
)
def test_the_file_is_what_a_plain_writer_would_write(labels, listed, several, reports, threshold, sizes):
    """The fast writer, which puts lines that read alike together once, against one cell after the other."""
    from discreet.questions.groups import groups_from
    from discreet.questions.question import read_question
    from discreet.release.noise.cells import cell_noise
    from discreet.release.tables.plain import PlainTablePlan

    measures = 'COUNT(*) AS n, COUNT_IF(x = 1) AS "=y"' if several else "COUNT(*) AS n"
    question = read_question(f"SELECT k, h, {measures} FROM visits GROUP BY k, h", unit="person")
    rows = [{"k": k, "h": h} for k in (1, 2) for h in labels][:: -1 if listed else 1]
    groups = groups_from(rows if listed else {"k": range(1, 3), "h": labels}, question.by)
    shape = (groups.size, 1 + several)
    cells = groups.size * (1 + several)
    limits = {} if sizes is None else {"sizes": np.array(sizes[:cells])}
    noise = cell_noise("geometric", epsilon=1, **limits)
    plan = PlainTablePlan(question, groups, noise, Fraction(1), 1, threshold)
    below, above = noise.clamp(cells)
    counts = np.clip(np.array(reports[:cells]), below, above).reshape(shape)
    status = np.full(shape, "A")
    if threshold is not None:
        status[counts < threshold] = "Q"
    table = ReleasedTable(plan, counts, status, Fraction(19, 20))
    found = list(csv.reader(io.StringIO(table.csv_text(), newline=""), strict=True))
    assert found[0] == [text if text[:1] != "=" else f"'{text}" for text in table.headings]
    for line, row in zip(found[1:], table.rows(), strict=True):
        stated = dict(zip(table.headings, line, strict=True))
        assert stated["count"] == ("" if row["count"] is None else str(row["count"]))
        assert stated["low"] == ("" if row["low"] is None else str(row["low"]))
        assert stated["high"] == ("" if row["high"] is None else str(row["high"]))
        assert stated["status"] == row["status"] and stated["k"] == str(row["k"])
        for name in ("sd", "bias_low", "bias_high", "exact_probability"):
            if row["status"] == "Q":
                assert stated[name] == ""
                continue
            assert float(stated[name]) == pytest.approx(row[name], rel=1e-5, abs=1e-12)
            at_least = name in ("sd", "bias_high")  # rounded so that what is said stays true
            assert float(stated[name]) >= row[name] if at_least else float(stated[name]) <= row[name]


def test_a_total_and_an_empty_label_have_their_lines(make, tmp_path):
    make(tmp_path / "a", "SELECT COUNT(*) FROM visits", domain=None)
    assert (tmp_path / "a/counts.csv").read_text().startswith("count,status,low")
    make(tmp_path / "b", "SELECT health, COUNT(*) FROM visits GROUP BY health", domain={"health": ["", None, "x"]})
    lines = (tmp_path / "b/counts.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["health", "", "NULL", "x"]
    assert verify_bundle(tmp_path / "a").holds and verify_bundle(tmp_path / "b").holds


# ------------------------------------------------------------------------------------------------ writing


def test_a_bundle_has_its_files_and_nothing_beside(out, tmp_path):
    assert {file.name for file in out.iterdir()} == FILES
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=out, check=True)


def test_the_same_release_is_written_the_same(make, tmp_path):
    release = make(tmp_path / "first")
    release.save(tmp_path / "deep/er/second")
    first, second = (
        {file.name: file.read_bytes() for file in folder.iterdir()}
        for folder in (tmp_path / "first", tmp_path / "deep/er/second")
    )
    assert first.keys() == FILES and first == second


def test_saving_again_leaves_the_bundle_alone(make, tmp_path):
    release = make(tmp_path / "out")
    before = (tmp_path / "out/index.html").stat().st_mtime_ns
    assert release.save(tmp_path / "out") == tmp_path / "out"
    assert (tmp_path / "out/index.html").stat().st_mtime_ns == before


def test_an_empty_folder_is_filled(make, tmp_path):
    (tmp_path / "out").mkdir()
    make(tmp_path / "out")
    assert verify_bundle(tmp_path / "out").holds


def test_what_is_there_already_is_refused_before_anything_is_spent(make, book, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    taken = "not this release"
    for place, token in (("taken", taken), ("file", taken), ("link", taken), ("file/under", "not a folder")):
        with refused(InvalidInput, token=token):
            make(tmp_path / place)
    assert book.spent().epsilon == 0
    assert (tmp_path / "taken/mine.txt").read_text() == "mine"


def test_a_folder_with_another_answer_to_the_same_question_is_refused(make, tmp_path):
    release = make(tmp_path / "out")
    table = release.tables[0]
    other = replace(release, tables=(replace(table, counts=table.counts + 1),))
    with refused(InvalidInput, token="another answer"):
        other.save(tmp_path / "out")
    refuse_occupied(tmp_path / "out", release.plan.key)
    with refused(InvalidInput, token="not this release"):
        refuse_occupied(tmp_path / "out")


def test_a_bundle_appears_complete_or_not_at_all(make, tmp_path, monkeypatch):
    release = make()

    def breaks(release):
        yield "counts.csv", b"half"
        raise KeyboardInterrupt

    monkeypatch.setattr(bundle, "bundle_files", breaks)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(release, tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["visits.ledger"]


def test_files_are_on_the_disk_before_they_have_their_name(make, tmp_path, monkeypatch):
    release, events = make(), []
    rename, fsync = Path.rename, os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (events.append("sync"), fsync(handle))[1])
    monkeypatch.setattr(Path, "rename", lambda self, target: (events.append("rename"), rename(self, target))[1])
    write_bundle(release, tmp_path / "out")
    assert events == ["sync"] * (len(FILES) + 1) + ["rename", "sync"]


def test_a_full_disk_says_what_to_do(make, tmp_path, monkeypatch):
    release = make()

    def full(file, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "_write_file", full)
    with refused(InvalidInput, token="No space left ... nothing"):
        write_bundle(release, tmp_path / "out")
    assert not (tmp_path / "out").exists()
