"""Where the data of the studies comes from: a folder, a download with a pinned checksum, or the package itself."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput, SourceFailed, UnreadableFile
from discreet_studies import datasets, running
from discreet_studies.datasets import Datasets, download_adult
from discreet_studies.running import find_study
from discreet_studies.study import Study
from support.refusals import refused

DATA = os.environ.get("DISCREET_DATA")
needs_data = pytest.mark.skipif(DATA is None and "CI" not in os.environ, reason="DISCREET_DATA names no folder")

ADULT = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, "
    "United-States, <=50K\n"
    "28, Private, 338409, Bachelors, 13, Married-civ-spouse, Sales, Wife, Black, Female, 0, 0, 40, Cuba, >50K\n"
    "\n"
)
HEADED = (
    "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,"
    "capital_loss,hours_per_week,native_country,income\n" + ADULT.replace(", ", ",").strip() + "\n"
)
SNAP = (
    "7\t2010-10-19T23:55:27Z\t48.8583\t2.3478\t22847\n9\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315\n"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [("adult.data", ADULT), ("adult.data.gz", ADULT), ("adult.csv", HEADED), ("adult.csv.gz", HEADED)],
)
def test_adult_is_read_as_published_or_with_a_heading(name: str, text: str, tmp_path: Path) -> None:
    packed = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(packed)
    people = Datasets(tmp_path).adult()
    assert people.age.tolist() == [39, 28] and people.female.tolist() == [0, 1] and people.rich.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["loc-gowalla_totalCheckins.txt", "loc-gowalla_totalCheckins.txt.gz"])
def test_gowalla_is_read_as_published(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(SNAP.encode()) if name.endswith(".gz") else SNAP.encode())
    found = Datasets(tmp_path).gowalla()
    assert found.user.tolist() == [7, 9] and found.lat[0] == 48.8583 and found.lon[1] == -97.7493953705


@needs_data
def test_the_real_files_have_the_numbers_that_their_publishers_state() -> None:
    """UCI: 32,561 people, 7,841 rich, 10,771 women, 9,711 under 30, 861 of 30; SNAP's extract: 14,490 check-ins."""
    people = Datasets().adult()
    assert len(people.age) == 32_561 and people.rich.sum() == 7_841 and people.female.sum() == 10_771
    assert (people.age < 30).sum() == 9_711 and (people.age == 30).sum() == 861
    found = Datasets().gowalla()
    assert len(found.user) == 14_490 and len(np.unique(found.user)) == 1_169


def test_what_comes_with_the_package_needs_no_folder(monkeypatch) -> None:
    monkeypatch.delenv(datasets.FOLDER, raising=False)
    table = Datasets().doctor_visits()
    assert len(set(table["person"])) == 5_912 and table["year"].count("1") == 5_638


@pytest.mark.parametrize("folder", [None, "empty"])
def test_missing_data_is_named_with_what_to_do(folder: str | None, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv(datasets.FOLDER, raising=False)
    with refused(InvalidInput, "data"):
        Datasets(None if folder is None else tmp_path).adult()
    with refused(InvalidInput, "data"):
        Datasets(None if folder is None else tmp_path).gowalla()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("adult.csv", b"age,sex\n1,Male\n", "no column"),
        ("adult.csv.gz", b"no gzip", "cannot be read"),
        ("adult.csv", HEADED.replace("Female", "female").encode(), "'female'"),
        ("adult.csv", b"\xff\xfe" + HEADED.encode(), "cannot be read"),
    ],
)
def test_another_file_of_that_name_is_refused(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with refused(UnreadableFile, token=words):
        Datasets(tmp_path).adult()


@pytest.fixture
def server() -> Iterator[tuple[str, dict[str, bytes]]]:
    """A server of this machine, and the files it has."""
    have: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = have.get(self.path)
            self.send_response(404 if content is None else 200)
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *given: object) -> None:
            pass

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{serving.server_port}", have
    serving.shutdown()
    serving.server_close()


def test_adult_is_fetched_checked_and_fetched_once(server, tmp_path: Path, monkeypatch) -> None:
    address, have = server
    have["/adult.data"] = ADULT.encode()
    monkeypatch.setattr(datasets, "ADULT_SHA256", hashlib.sha256(ADULT.encode()).hexdigest())
    file = download_adult(tmp_path / "new", f"{address}/adult.data")
    assert file.read_bytes() == ADULT.encode() and Datasets(tmp_path / "new").has("adult")
    del have["/adult.data"]
    assert download_adult(tmp_path / "new", f"{address}/adult.data") == file


@needs_data
def test_the_pinned_checksum_is_that_of_the_real_file(server, tmp_path: Path) -> None:
    """The real file, put together again from the copy with a heading as its README says, passes unchanged."""
    address, have = server
    with gzip.open(Path(DATA or "") / "adult.csv.gz", "rt", encoding="utf-8") as rows:
        published = "".join(line.replace(",", ", ") for line in list(rows)[1:]) + "\n"
    have["/adult.data"] = published.encode()
    assert len(published) == datasets.ADULT_BYTES
    assert download_adult(tmp_path, f"{address}/adult.data").read_bytes() == published.encode()


@pytest.mark.parametrize("content", [b"not Adult", b"", None, b"x" * 5_000_000])
def test_anything_else_that_arrives_is_refused_and_not_kept(content: bytes | None, server, tmp_path: Path) -> None:
    address, have = server
    if content is not None:
        have["/adult.data"] = content
    with refused(SourceFailed, token="Adult"):
        download_adult(tmp_path / "new", f"{address}/adult.data")
    assert not (tmp_path / "new").exists()


def test_a_server_that_refuses_leaves_no_connection_open(server, tmp_path: Path) -> None:
    with pytest.raises(SourceFailed) as refusal:
        download_adult(tmp_path, f"{server[0]}/adult.data")
    answer = refusal.value.__cause__
    assert isinstance(answer, HTTPError) and answer.code == 404 and answer.closed


def test_no_server_is_an_error_in_words(tmp_path: Path) -> None:
    with refused(SourceFailed, token="Adult ... DISCREET_DATA"):
        download_adult(tmp_path, "http://127.0.0.1:1/adult.data", seconds=2)


def test_what_needs_missing_data_is_left_out_or_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv(datasets.FOLDER, raising=False)
    with refused(InvalidInput, "data"):
        dc.study("constrained", "10", quick=True, data=tmp_path)
    needing = Study("one", "X", "A paper", tuple(e for e in find_study("C").exhibits if e.key in ("10", "em-gm")))
    monkeypatch.setattr(running, "find_study", lambda name: needing)
    found = dc.study("one", quick=True, data=tmp_path)
    assert list(found.left_out) == ["10"] and "Adult" in found.left_out["10"] and list(found.results) == ["em-gm"]
