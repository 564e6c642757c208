"""CSV files: read by a fixed dialect (``files`` says which), and decoded where the engine cannot read their bytes."""

from __future__ import annotations

import codecs
import csv
import glob
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from ..errors import SourceFailed, UnreadableFile
from ..system import private_file
from .encodings import UNREADABLE, UTF8, copy_as_utf8, has_unreadable_utf8, open_text, refuse_other_marks
from .engine import Files
from .formats import refuse_other_separators
from .sql import quoted, text_literal

if TYPE_CHECKING:
    pass


class Csv(Files):
    """A CSV file: columns are known by place, so that no name of the heading can disturb the reading."""

    delimiter = ","
    typed = False

    #: The file of the decoded text and the stream that writes it; the heading; True once the file is filled.
    _copy: tuple[Path, BinaryIO] | None = None
    _names: list[str] | None = None
    _decoded = False
    _marked = False

    def _read_schemas(self) -> dict[str, Mapping[str, str]]:
        # a name with a line end may be rows, behind a quote that was never closed: it is not offered, and so not shown
        return {self.name: self._own([(name, "VARCHAR") for name in self._heading() if name.isprintable()])}

    def _heading(self) -> list[str]:
        if self._names is not None:
            return self._names
        file = self.files[0]
        names: list[str] | None = None
        try:
            if file.name.lower().endswith(".zst"):
                names = self._first_record_of_zst()
            else:
                refuse_other_marks(file, self.encoding)
                with open_text(file, self.encoding) as lines:  # more than the heading is decoded
                    names = next(csv.reader(_first_lines(lines), delimiter=self.delimiter), None)
                    if names is None:
                        raise UnreadableFile(f"{file.name} is empty.", "Its first line must name the columns.")
        except UnreadableFile:
            raise
        except (OSError, EOFError, ValueError, csv.Error):
            pass  # their words could quote what follows the heading
        if not names or any(UNREADABLE in name for name in names):
            advice = (
                'Name its encoding where the dataset is declared: encoding = "latin-1"' if self.encoding == UTF8 else ""
            )
            raise UnreadableFile(
                f"cannot read {file.name}: it must begin with a heading line of column names, in "
                f"{'UTF-8' if self.encoding == UTF8 else self.encoding}.", advice,
            )  # fmt: skip
        refuse_other_separators(file, names, self.delimiter)
        return names

    @contextmanager
    def decoded(self) -> Iterator[Files]:
        file = self.files[0]
        if file.suffix.lower() == ".zst":
            yield self
            return
        with private_file(file.stat().st_size * (20 if file.suffix.lower() == ".gz" else 2)) as copy_and_stream:
            files = copy(self)
            files._copy, files._names = copy_and_stream, self._heading()
            files._decoded, files._marked = self.encoding != UTF8, True
            yield files

    def decode(self) -> None:
        if self._copy is None:
            return
        # U+FFFF is unreadable in every UTF-8 file, so that no row's bytes decide how another row is read
        self._marked = self.encoding != UTF8 or has_unreadable_utf8(self.files[0])
        if self._marked:
            _, stream = self._copy
            copy_as_utf8(self.files[0], self.encoding, stream.write)
            stream.flush()
            self._decoded = True

    @property
    def may_be_unreadable(self) -> bool:
        return self._marked and self.encoding != "latin-1"

    def readable_files(self) -> Sequence[Path]:
        return [*self.files, *([] if self._copy is None else [self._copy[0]])]

    def _first_record_of_zst(self) -> list[str] | None:
        """Return the heading of a file that Python's own library cannot unpack; it must be one line."""
        lines = _csv_call(self.files[0], 1, "\x1f", quote="", header=False, skip_unreadable=False)
        records = self._schema_rows(f"SELECT c0 FROM {lines} LIMIT 1")
        if not records or records[0][0] is None:
            return None
        text = str(records[0][0]).removeprefix(codecs.BOM_UTF8.decode())
        if text.count('"') % 2:
            raise UnreadableFile(
                f"cannot read {self.files[0].name}: its heading goes on after the first line.",
                "Pack it by gzip, or give the columns names of one line.",
            )
        return next(csv.reader([text], delimiter=self.delimiter), None)

    def relation(self, table: str, columns: Sequence[str]) -> str:
        heading = self._heading()
        for column in columns:
            if column not in heading:  # as it had when its columns were read
                raise SourceFailed(
                    f"{self.files[0].name} was altered after it was planned for: it has no column {column!r}.",
                    "Open the data again.",
                )
        file = self._copy[0] if self._copy is not None and self._decoded else self.files[0]
        call = _csv_call(file, len(heading), self.delimiter, skip_unreadable=self.skip_unreadable)
        if len(heading) == 1:  # here a blank line would be a record; unlike an empty field in quotes it is NULL
            return f"(SELECT nullif(c0, '') AS {quoted(heading[0])} FROM {call} WHERE c0 IS NOT NULL) AS csv"
        places = ", ".join(f"c{heading.index(column)} AS {quoted(column)}" for column in columns) or "c0"
        return f"(SELECT {places} FROM {call}) AS csv"


class Tsv(Csv):
    delimiter = "\t"


#: Maximum length of a CSV record, and size of the read buffer, in bytes. A record longer than the maximum vanishes
#: alone; one longer than the buffer can take others with it.
_MAX_RECORD_BYTES = 2_000_000
_BUFFER_BYTES = 128 * _MAX_RECORD_BYTES


def _first_lines(lines: TextIO) -> Iterator[str]:
    """Yield lines until they have as many letters as a record may have; few packed bytes can hold an endless one."""
    left = _MAX_RECORD_BYTES
    while line := lines.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise ValueError("a heading is longer than a record may be")
        yield line


def _csv_call(
    file: Path, fields: int, delimiter: str, quote: str = '"', header: bool = True, skip_unreadable: bool = True
) -> str:
    """Return SQL that reads a file by a fixed dialect, with nothing left to guess.

    Three settings keep one person's row from deciding about others' rows. In strict mode a stray quote makes the
    records after it vanish. Read in parallel, a block that begins inside quotes is misread, and its records vanish.
    With any line end but ``\\n`` (which stands for CR as well, the second of two being a blank line) a blank line at
    the end of a buffer is misread, and its CR or LF becomes part of the next record.
    """
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(fields))
    compression = {".gz": "gzip", ".zst": "zstd"}.get(file.suffix.lower(), "none")
    return (
        f"read_csv({text_literal(glob.escape(str(file)))}, columns = {{{columns}}}, delim = {text_literal(delimiter)}, "
        f"quote = {text_literal(quote)}, escape = {text_literal(quote)}, header = {str(header).lower()}, "
        f"compression = '{compression}', auto_detect = false, ignore_errors = {str(skip_unreadable).lower()}, "
        "strict_mode = false, parallel = false, null_padding = false, encoding = 'utf-8', comment = '', "
        f"new_line = '\\n', allow_quoted_nulls = {str(fields > 1).lower()}, "
        f"buffer_size = {_BUFFER_BYTES}, max_line_size = {_MAX_RECORD_BYTES})"
    )
