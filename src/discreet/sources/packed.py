"""Whether a compressed file is whole: nothing of it missing, and its checksums right.

DuckDB reads a gzip file without looking at its checksum, and a zstd file that was cut off as if it ended there: people
would be missing, and nobody would know. Looking first costs one pass over the file and reveals nothing but damage.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import UnreadableFile

_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_HEADER_CHECKSUM, _COMMENT = 0x02, 0x10
_ZSTD = b"\x28\xb5\x2f\xfd"
#: zstd's frames that hold no data begin with 0x184D2A50 to 0x184D2A5F, low byte first.
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_LARGEST_BLOCK = 128 * 1024


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


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def _gzip_is_whole(stream: BinaryIO) -> bool:
    """One or more members, each with the checksum and length it states, and nothing behind them (RFC 1952).

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
            member.decompress(rest)
            rest = b""
            if member.eof:
                rest, member = member.unused_data, None
    return member is None and not rest


def _zstd_is_whole(stream: BinaryIO) -> bool:
    """Frames from end to end: each header, each block's stated length, the checksum's place (RFC 8878, section 3.1).

    The checksum itself is compared by the engine, which reads the blocks.
    """
    frames = 0
    while magic := stream.read(4):
        if int.from_bytes(magic, "little") in _SKIPPABLE:
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
        if kind == 3 or (size > _LARGEST_BLOCK and kind != 1):
            return False
        if not _skip(stream, 1 if kind == 1 else size):  # a run of one byte is stored as that byte
            return False
    return _skip(stream, 4 if checksum else 0)


def _skip(stream: BinaryIO, length: int) -> bool:
    """Go on by so many bytes; False where the file ends before."""
    return len(stream.read(length)) == length
