"""Encodings of files: the reader of text in UTF-8; the names for CSV files, and how a file in one becomes UTF-8.

The engine's own decoders stop at the first byte that they do not know, so Python's are used. Bytes that are invalid in
an encoding become one character that no text has, which marks the value as unreadable.
"""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO, cast

from ..errors import InvalidInput, UnreadableFile
from ..wording import nearest

#: The encoding of a file for which none is declared.
UTF8 = "utf-8"

#: The names of encodings -> Python's decoder of a file without a byte order mark.
_DECODERS = {
    UTF8: "utf-8",
    "latin-1": "latin-1",
    "windows-1252": "cp1252",
    "utf-16": "utf-16-le",
    "utf-16-be": "utf-16-be",
}

#: The names, for messages.
ENCODINGS = tuple(_DECODERS)

#: Python's names of encodings -> ours.
_ALIASES = {
    "utf-8": UTF8, "utf-8-sig": UTF8, "iso8859-1": "latin-1", "cp1252": "windows-1252", "utf-16": "utf-16",
    "utf-16-le": "utf-16", "utf-16-be": "utf-16-be",
}  # fmt: skip

#: Byte order marks -> the decoder of what follows, in files of UTF-16; elsewhere they are refused.
_UTF16_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}

#: Replacement for invalid bytes: a noncharacter of Unicode. A text that contains it counts as unreadable too.
UNREADABLE = "\uffff"

#: Bytes decoded at a time.
_CHUNK_BYTES = 1 << 20


def read_text_file(path: str | Path, argument: str | None = None) -> str:
    """Read a file of text in UTF-8, with or without a byte order mark; refuse any other file.

    >>> read_text_file("no such file")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: cannot read no such file: No such file or directory.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFile(f"{path} is not UTF-8 text.", "Save it as UTF-8.", argument=argument) from None
    except (OSError, ValueError) as problem:  # ValueError: no file can have this name
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise UnreadableFile(f"cannot read {path}: {reason}.", argument=argument) from None


#: Bytes read at a time for the heading alone: the rows after it may be damaged.
_HEADING_CHUNK_BYTES = 1 << 13


def _mark_unreadable(problem: UnicodeError) -> tuple[str, int]:
    assert isinstance(problem, UnicodeDecodeError)
    return UNREADABLE, problem.end


codecs.register_error("discreet.unreadable", _mark_unreadable)


def read_encoding(given: str, argument: str = "encoding") -> str:
    """Return the name of an encoding, from any of the usual spellings.

    >>> read_encoding("ISO-8859-1"), read_encoding("utf8"), read_encoding("cp1252")
    ('latin-1', 'utf-8', 'windows-1252')
    """
    try:
        return _ALIASES[codecs.lookup(given.strip()).name]
    except (LookupError, ValueError):
        near = nearest(given, ENCODINGS)
        suggestion = f"Did you mean {near}? " if near else ""
        raise InvalidInput(
            f"the encoding {given!r} is not known.", f"{suggestion}The encodings are {', '.join(ENCODINGS)}.",
            argument=argument,
        ) from None  # fmt: skip


def refuse_other_marks(file: Path, encoding: str) -> None:
    """Refuse a file whose first bytes show another encoding than was declared; they are part of its heading."""
    with _bytes(file, _HEADING_CHUNK_BYTES) as stream:
        first = stream.read(3)
    if first.startswith(codecs.BOM_UTF8) and encoding != UTF8:
        raise UnreadableFile(
            f"{file.name} begins with the mark of UTF-8, and {encoding} is declared.", "Leave the encoding out."
        )
    marked = first[:2] in _UTF16_MARKS
    if marked and not encoding.startswith("utf-16"):
        raise UnreadableFile(
            f"{file.name} begins with the mark of UTF-16, and {encoding} is declared.", 'Declare: encoding = "utf-16"'
        )
    if encoding == "utf-16" and not marked and first[:1] == b"\0" != first[1:2]:
        raise UnreadableFile(
            f"{file.name} has no byte order mark and looks big-endian.", 'Declare: encoding = "utf-16-be"'
        )


@contextmanager
def open_text(file: Path, encoding: str) -> Iterator[TextIO]:
    """Open a file, packed by gzip or not, as text; line ends are left as they are."""
    with _bytes(file, _HEADING_CHUNK_BYTES) as stream:
        decoder = _decoder_name(stream, encoding)
        yield io.TextIOWrapper(stream, encoding=decoder, errors="discreet.unreadable", newline="")


def copy_as_utf8(file: Path, encoding: str, write: Callable[[bytes], object]) -> None:
    """Write the text of a file, packed by gzip or not, as UTF-8 and without its byte order mark."""
    with _bytes(file) as stream:
        decoder = codecs.getincrementaldecoder(_decoder_name(stream, encoding))("discreet.unreadable")
        while chunk := stream.read(_CHUNK_BYTES):
            write(decoder.decode(chunk).encode())
        write(decoder.decode(b"", final=True).encode())


def has_unreadable_utf8(file: Path) -> bool:
    """Return whether a file, packed by gzip or not, has bytes that are not UTF-8, or the mark of unreadable values."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    pending = False
    with _bytes(file) as stream:
        try:
            while chunk := stream.read(_CHUNK_BYTES):
                if not pending and chunk.isascii():
                    continue
                if UNREADABLE in decoder.decode(chunk):
                    return True
                pending = bool(decoder.getstate()[0])
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return True
    return False


@contextmanager
def _bytes(file: Path, size: int = _CHUNK_BYTES) -> Iterator[io.BufferedReader[io.RawIOBase]]:
    """Open a file, packed by gzip or not, with a read-ahead of ``size`` bytes."""
    unpacked = gzip.open if file.name.lower().endswith(".gz") else partial(open, buffering=0)
    opener = cast(Callable[[Path, str], io.RawIOBase], unpacked)
    with opener(file, "rb") as opened, io.BufferedReader(opened, size) as buffered:
        yield buffered


def _decoder_name(stream: io.BufferedReader[io.RawIOBase], encoding: str) -> str:
    """Return the decoder of a file, and skip its byte order mark."""
    first = stream.peek(3)[:3]
    if encoding == UTF8 and first == codecs.BOM_UTF8:
        stream.read(3)
    elif encoding.startswith("utf-16") and first[:2] in _UTF16_MARKS:
        return _UTF16_MARKS[stream.read(2)]
    return _DECODERS[encoding]
