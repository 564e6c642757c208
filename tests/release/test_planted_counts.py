"""True counts appear in nothing that is written, returned, printed or raised."""

from __future__ import annotations

import io
import logging
import traceback
from contextlib import redirect_stderr, redirect_stdout

import duckdb
import numpy as np
import pytest

import discreet as dc
from discreet.engines.sources import open_source
from discreet.exact.bits import SeededBits
from discreet.release.counts import _release
from discreet.release.plan.planning import plan_release
from support.made_sources import Ready

#: Numbers of rows that noise of this width does not hit with this seed.
PLANTED = {1: 48271, 2: 16807, 3: 69621}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("planted") / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits (person BIGINT, site INTEGER)")
        for site, rows in PLANTED.items():
            connection.execute(f"INSERT INTO visits SELECT range + {site * 10**6}, {site} FROM range({rows})")
    return path


def everything(folder) -> bytes:
    """All bytes of all files of a folder, and the names of the files."""
    return b"\0".join(
        path.name.encode() + b"\0" + path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    )


def found(text: bytes) -> list[int]:
    return [count for count in (*PLANTED.values(), sum(PLANTED.values())) if str(count).encode() in text]


@pytest.mark.parametrize("unit", ["row", "person"])
def test_no_true_count_is_in_anything_written_or_returned(table, tmp_path, unit, caplog):
    book = dc.Ledger.create(tmp_path / "book.ledger", dataset="visits", unit=unit, epsilon=1)
    question = "SELECT site, COUNT(*) FROM visits GROUP BY site"
    plan = plan_release(question, data=table, unit=unit, max_groups=1, domain={"site": range(1, 5)}, epsilon="0.001")
    said, warned = io.StringIO(), io.StringIO()
    with caplog.at_level(logging.DEBUG), redirect_stdout(said), redirect_stderr(warned):
        released = _release(plan, open_source(table), book, tmp_path / "bundle", SeededBits(7))
        said.write(
            released.describe() + repr(released) + repr(released.tables) + str(released.rows()) + plan.describe()
        )
    answers = b"".join(book.recorded(entry.reservation.key).answer for entry in book.entries())
    texts = [everything(tmp_path), answers, said.getvalue().encode(), warned.getvalue().encode(), caplog.text.encode()]
    assert found(b"\0".join(texts)) == []
    shown = str(released.rows()[0]["count"]).encode()
    assert shown in everything(tmp_path) and shown in answers and shown in texts[2]  # the search would find them


class Broken(Ready):
    """A source whose engine fails half-way, with a row in its message."""

    dataset = "visits"

    def __init__(self, source):
        self.source = source

    def spelled(self, name):
        return name

    def table(self, name):
        return self.source.table(name)

    def view(self, name):
        return None

    def count(self, countings):
        secret = np.array([[count] for count in (*PLANTED.values(), 0)])
        raise_from_engine(secret)


def raise_from_engine(secret):
    raise duckdb.ConversionException(f"Could not convert row of 48271: {secret}")


def test_a_failure_after_the_reservation_stays_spent_and_says_nothing(table, tmp_path):
    book = dc.Ledger.create(tmp_path / "book.ledger", dataset="visits", unit="row", epsilon=1)
    plan = plan_release(
        "SELECT site, COUNT(*) FROM visits GROUP BY site",
        data=table,
        unit="row",
        domain={"site": range(1, 5)},
        epsilon="1/2",
    )
    with pytest.raises(dc.errors.SourceFailed) as failure:
        _release(plan, Broken(open_source(table)), book, tmp_path / "bundle", SeededBits(7))
    text = "".join(traceback.format_exception(failure.value))
    assert failure.value.__context__ is None and failure.value.__cause__ is None
    assert found(text.encode()) == [] and "48271" not in str(failure.value)
    assert str(book.spent().epsilon) == "1/2" and len(book.orphans()) == 1
    assert not (tmp_path / "bundle").exists()
