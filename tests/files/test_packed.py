"""Packed files are read within bounds, whatever they state of themselves."""

from __future__ import annotations

import gzip
import io
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DiscreetError, InvalidInput, UnreadableFile
from discreet.files import read_subject
from discreet.ledger.stores import base
from discreet.ledger.stores.sqlite import SqliteSession
from discreet.sources.files import open_files
from discreet.sources.packed import UnpackedTooLarge, check_whole, unpack_gzip, unpack_zip
from discreet.web.pages.verify import Submission, judge
from support.refusals import refused

#: Bytes that unpack from a thousandth of them.
LARGE = 32 << 20
MEGABYTE = 1 << 20


def peak(action: Callable[[], object]) -> int:
    """Return the most bytes that an action had in memory at once."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def stating(archive: bytes, size: int) -> bytes:
    """Return an archive of one file that states another size, in both places."""
    altered, central = bytearray(archive), archive.index(b"PK\x01\x02")
    altered[22:26] = altered[central + 24 : central + 28] = struct.pack("<I", size)
    return bytes(altered)


def unpack(archive: bytes, max_bytes: int = MEGABYTE) -> list[tuple[str, bytes]]:
    return unpack_zip(archive, "a.zip", 10, max_bytes)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_every_program_writes_is_unpacked(method: int) -> None:
    files = {"counts.csv": b"a,b\n" * 100, "folder/x": b""}
    assert dict(unpack(zipped({**files, "folder/": b""}, method), 400)) == files


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_whose_decoder_cannot_be_stopped_are_refused(method: int) -> None:
    bomb = stating(zipped({"counts.csv": bytes(LARGE)}, method), 100)

    def refuse() -> None:
        with refused(UnreadableFile):
            unpack(bomb)

    assert len(bomb) < 20_000 and peak(refuse) < 2 * MEGABYTE


@pytest.mark.parametrize("size", [100, MEGABYTE, LARGE, 2**32 - 2])
def test_bytes_are_counted_whatever_an_archive_states(size: int) -> None:
    bomb = stating(zipped({"counts.csv": bytes(LARGE)}), size)

    def refuse() -> None:
        with pytest.raises((InvalidInput, UnreadableFile)):
            unpack(bomb)

    assert peak(refuse) < 6 * MEGABYTE


def test_the_sum_over_all_files_and_their_number_are_bounded() -> None:
    with refused(InvalidInput):
        unpack(zipped({str(k): bytes(600) for k in range(2)}), 1000)
    with refused(InvalidInput):
        unpack(zipped({str(k): b"" for k in range(11)}))
    many = zipped({str(k): b"" for k in range(3000)})

    def refuse() -> None:
        with refused(InvalidInput):
            unpack(many)

    assert peak(refuse) < MEGABYTE  # before an object is made of each


def test_damaged_archives_are_refused_in_words() -> None:
    whole = zipped({"a": b"a,b\n" * 1000})
    data = bytearray(whole)
    data[31:40] = b"\xff" * 9  # the deflated data
    encrypted = bytearray(whole)
    encrypted[6] |= 1
    encrypted[whole.index(b"PK\x01\x02") + 8] |= 1
    for damaged in (bytes(data), bytes(encrypted), whole[:-5], b"PK nonsense", b""):
        with refused(UnreadableFile):
            unpack(damaged)


def test_no_byte_of_an_archive_causes_an_error_without_words() -> None:
    whole = zipped({"a": b"a,b\n" * 9, "ä": b""})
    refusals = 0
    for place in range(len(whole)):
        for value in {0, 1, 0x7F, 0xFF, whole[place] ^ 1}:
            altered = bytearray(whole)
            altered[place] = value
            try:
                unpack(bytes(altered))
            except DiscreetError:
                refusals += 1
    assert refusals > len(whole)


def test_two_files_of_one_name_are_refused() -> None:
    """Programs differ on which of them is the file."""
    bundle = zipped({"one/counts.csv": b"1", "two/counts.csv": b"2"})
    with refused(InvalidInput, token="one name"):
        list(judge(Submission({"b.zip": bundle}, "", "", None)))


# ------------------------------------------------------------------------------------------------ gzip and zstd


def test_gzip_is_unpacked_up_to_a_limit() -> None:
    packed = gzip.compress(b"counts")
    assert unpack_gzip(packed, 6) == b"counts"
    with pytest.raises(UnpackedTooLarge):
        unpack_gzip(packed, 5)
    bomb = gzip.compress(bytes(LARGE))

    def refuse() -> None:
        with pytest.raises(UnpackedTooLarge):
            unpack_gzip(bomb, MEGABYTE)

    assert peak(refuse) < 6 * MEGABYTE


def test_looking_whether_a_file_is_whole_takes_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv.gz"
    file.write_bytes(gzip.compress(b"a\n" + bytes(LARGE)) * 2)
    assert peak(lambda: check_whole(file)) < 8 * MEGABYTE
    file.write_bytes(file.read_bytes()[:-1])
    with refused(UnreadableFile):
        check_whole(file)


def test_a_frame_that_states_four_gigabytes_takes_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv.zst"
    file.write_bytes(struct.pack("<II", 0x184D2A50, 2**32 - 1) + b"x")

    def refuse() -> None:
        with refused(UnreadableFile):
            check_whole(file)

    assert peak(refuse) < 4 * MEGABYTE


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_an_endless_heading_is_refused_early(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"visits{ending}"
    file.write_bytes(gzip.compress(b"a" * LARGE) if ending.endswith("gz") else b"a" * LARGE)

    def refuse() -> None:
        with refused(UnreadableFile):
            open_files(file, skip_unreadable=True).tables()

    assert peak(refuse) < LARGE / 2


# ------------------------------------------------------------------------------------------------ arrays and ledgers


@pytest.mark.parametrize("rows", [4000, 10**6])
def test_an_array_takes_the_memory_of_its_file_and_not_what_it_states(tmp_path: Path, rows: int) -> None:
    file = tmp_path / "m.npy"
    with file.open("wb") as stream:
        header = {"descr": "<f8", "fortran_order": False, "shape": (rows, rows)}
        np.lib.format.write_array_header_1_0(stream, header)
        stream.write(bytes(80))

    def refuse() -> None:
        with refused(UnreadableFile):
            read_subject(file)

    assert peak(refuse) < MEGABYTE


class _Hostile(SqliteSession):
    """A ledger's content that states any size."""

    def __init__(self, size: int, packed: bytes) -> None:
        self._kept = size, packed

    def get_content(self, digest: str) -> tuple[object, object] | None:
        return self._kept


def test_a_ledger_cannot_state_its_way_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MAX_CONTENT_BYTES", MEGABYTE)
    bomb = zlib.compress(bytes(LARGE))
    for size in (2**62, 2**70, LARGE, 10):
        assert peak(lambda size=size: _Hostile(size, bomb).content("0")) < 6 * MEGABYTE
        assert _Hostile(size, bomb).content(base.digest_of(bytes(LARGE))) is None
    assert _Hostile(5, zlib.compress(b"count")).content(base.digest_of(b"count")) == b"count"
