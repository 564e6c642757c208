"""Reading compressed files within bounds, and whether they are whole: nothing missing, and their checksums right.

A few kilobytes can unpack to gigabytes, and what a file states of its own size may be false. So what is unpacked is
counted while it is unpacked, and formats whose decoder cannot be stopped half-way are not read.

DuckDB reads a gzip file without looking at its checksum, and a zstd file that was cut off as if it ended there: people
would be missing, and nobody would know. Looking first costs one pass over the file and reveals nothing but damage.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from ..errors import InvalidInput, UnreadableFile

#: Bytes read or unpacked at a time.
_CHUNK_BYTES = 1 << 20
#: First bytes of an entry in the table of contents of a zip archive.
_ZIP_ENTRY = b"PK\x01\x02"
_GZIP = b"\x1f\x8b"
_HEADER_CHECKSUM, _COMMENT = 0x02, 0x10
_ZSTD = b"\x28\xb5\x2f\xfd"
#: zstd's frames that hold no data begin with 0x184D2A50 to 0x184D2A5F, low byte first.
_SKIPPABLE_FRAMES = range(0x184D2A50, 0x184D2A60)
_MAX_BLOCK_BYTES = 128 * 1024


def check_whole(file: Path) -> None:
    """Refuse a ``.gz`` or ``.zst`` file that is damaged or cut off; other files pass.

    Raises
    ------
    UnreadableFile
        Naming the file, and never anything that is in it.
    """
    check = {".gz": _gzip_is_whole, ".zst": _zstd_is_whole}.get(file.suffix.lower())
    if check is None:
        return
    try:
        with file.open("rb") as stream:
            whole = check(stream)
    except (OSError, zlib.error):
        whole = False
    if not whole:
        raise UnreadableFile(
            f"{file.name} is damaged or incomplete, or packed in an unusual way.", "Copy it, or pack it again by gzip."
        )


class SupportsRead(Protocol):
    """A stream that unpacks as it is read."""

    def read(self, size: int, /) -> bytes: ...


class UnpackedTooLarge(Exception):
    """An archive that unpacks to more bytes than its limit."""


def unpack_zlib(packed: bytes, limit: int) -> bytes:
    """Unpack the output of ``zlib.compress``.

    Raises
    ------
    UnpackedTooLarge
        If it holds more than ``limit`` bytes, of which no more is kept in memory.
    zlib.error
        If it is damaged.

    Examples
    --------
    >>> unpack_zlib(zlib.compress(b"counts"), 6)
    b'counts'
    """
    content = zlib.decompressobj().decompress(packed, limit + 1)
    if len(content) > limit:
        raise UnpackedTooLarge(f"it unpacks to more than {limit:,} bytes")
    return content


def unpack_gzip(packed: bytes, limit: int) -> bytes:
    """Unpack a gzip file.

    Raises
    ------
    UnpackedTooLarge
        If it holds more than ``limit`` bytes, of which no more is kept in memory.
    OSError, EOFError, zlib.error
        If it is damaged.
    """
    return _read_at_most(gzip.GzipFile(fileobj=BytesIO(packed)), limit)


def unpack_zip(archive: bytes, name: str, max_files: int, max_bytes: int) -> list[tuple[str, bytes]]:
    """Return the files of a zip archive, by the names they have in it.

    Entries are stored or deflated, as every program writes them. The decoders of other methods hand over all that a
    piece unpacks to at once.

    Parameters
    ----------
    archive
        The archive.
    name
        Its name in errors.
    max_files
        Maximum number of entries, including folders.
    max_bytes
        Maximum number of bytes of all files together, counted while they are unpacked.

    Raises
    ------
    InvalidInput
        If it holds more than that.
    UnreadableFile
        If it is damaged, encrypted, or packed by another method.
    """
    too_much = InvalidInput(f"{name} holds too much.", "Unpack it, and use the command line: discreet verify FOLDER.")
    if archive.count(_ZIP_ENTRY) > max_files:  # before an object is made of each
        raise too_much
    files, left = [], max_bytes
    try:
        with ZipFile(BytesIO(archive)) as opened:
            for entry in opened.infolist():
                if entry.is_dir():
                    continue
                if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                    raise UnreadableFile(
                        f"{name} is packed by an unusual method.", "Pack it again with the method deflate."
                    )
                with opened.open(entry) as stream:
                    content = _read_at_most(stream, left)
                files.append((entry.filename, content))
                left -= len(content)
    except UnpackedTooLarge:
        raise too_much from None
    except UnreadableFile:
        raise
    except Exception:  # on damaged archives zipfile also raises IndexError, struct.error, UnicodeDecodeError
        raise UnreadableFile(f"{name} cannot be unpacked.", "Give the files in it themselves.") from None
    return files


def _read_at_most(stream: SupportsRead, limit: int) -> bytes:
    """Read a stream that unpacks as it is read; no more than one byte beyond the limit is unpacked."""
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise UnpackedTooLarge(f"it unpacks to more than {limit:,} bytes")
    return content


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK_BYTES):
        yield chunk


def _gzip_is_whole(stream: BinaryIO) -> bool:
    """Return one or more members, each with the checksum and length it states, and nothing behind them (RFC 1952).

    The engine reads no member that has a comment or a checksum of its header.
    """
    member, rest = None, b""
    for chunk in _chunks(stream):
        rest += chunk
        while rest:
            if member is None:
                if len(rest) < 4:
                    break
                if not rest.startswith(_GZIP) or rest[3] & (_HEADER_CHECKSUM | _COMMENT):
                    return False
                member = zlib.decompressobj(wbits=31)
            member.decompress(rest, _CHUNK_BYTES)
            rest = member.unconsumed_tail
            if member.eof:
                rest, member = member.unused_data, None
    return member is None and not rest


def _zstd_is_whole(stream: BinaryIO) -> bool:
    """Check frames from end to end: each header, each block's length, the checksum's place (RFC 8878, section 3.1).

    The checksum itself is compared by the engine, which reads the blocks.
    """
    frames = 0
    while magic := stream.read(4):
        if int.from_bytes(magic, "little") in _SKIPPABLE_FRAMES:
            if not _skip(stream, int.from_bytes(stream.read(4), "little")):
                return False
            continue
        if magic != _ZSTD or not _frame_is_whole(stream):
            return False
        frames += 1
    return frames > 0


def _frame_is_whole(stream: BinaryIO) -> bool:
    descriptor = stream.read(1)
    if not descriptor:
        return False
    flags = descriptor[0]
    single, checksum = bool(flags & 0x20), bool(flags & 0x04)
    window = 0 if single else 1
    dictionary = (0, 1, 2, 4)[flags & 3]
    content = (1 if single else 0, 2, 4, 8)[flags >> 6]
    if not _skip(stream, window + dictionary + content):
        return False
    last = False
    while not last:
        header = stream.read(3)
        if len(header) < 3:
            return False
        bits = int.from_bytes(header, "little")
        last, kind, size = bool(bits & 1), bits >> 1 & 3, bits >> 3
        if kind == 3 or (size > _MAX_BLOCK_BYTES and kind != 1):
            return False
        if not _skip(stream, 1 if kind == 1 else size):  # a run of one byte is stored as that byte
            return False
    return _skip(stream, 4 if checksum else 0)


def _skip(stream: BinaryIO, length: int) -> bool:
    """Skip ``length`` bytes; return False where the file ends before."""
    while length:
        piece = len(stream.read(min(length, _CHUNK_BYTES)))
        if not piece:
            return False
        length -= piece
    return True
