"""Public look-ups: further columns of a row, read from a public table by the value of one of its columns.

A look-up is a public file with a key that no two of its lines share, or a CASE in the question. It maps a value of one
column to values of others, so that it changes nothing but the row itself: a person is in as many groups as before.

**The rule.** The column is read as its keys are: as a whole number where the column holds numbers or all keys are
written as whole numbers, else as text. A row whose value is no key has NULL in the looked-up columns (of an inner join,
it vanishes; of a CASE with ELSE, it has that value). Keys are unique *after that reading*: '1' and '01' are one number.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...errors import InvalidInput
from ...report import Json
from ...wording import nearest
from ..conditions import Condition
from ..domains import Value, parse_whole, read_table_text
from ..expressions import LARGEST_WHOLE, Compare, Literal, Member, SqlTerm, name_text
from .clauses import Join

#: Maximum size of a look-up in bytes: it becomes a file of the bundle.
MAX_LOOKUP_BYTES = 50_000_000

#: Kinds of columns that are read as whole numbers.
_NUMBERS = ("integer", "number")


@dataclass(frozen=True)
class LookedUpColumn:
    """A column that a look-up gives to rows.

    Attributes
    ----------
    name, kind
        Its name, and ``"integer"`` or ``"text"``.
    values
        The value of each key that has one; None where the look-up was not read again.
    default
        The value of rows without a key; None for no value.
    """

    name: str
    kind: str
    values: Mapping[int | str, int | str] | None = field(default=None, compare=False, repr=False)
    default: str | None = None

    @property
    def public_values(self) -> tuple[Value, ...]:
        """All values that a row can have, in the order in which the look-up has them; not the missing one."""
        values = dict.fromkeys((self.values or {}).values())
        return (*values, *([] if self.default is None or self.default in values else [self.default]))


@dataclass(frozen=True)
class PublicTable:
    """A public file that was declared as a look-up, and what it holds.

    Attributes
    ----------
    name
        The name it is declared by.
    key
        The column that rows are looked up by.
    columns
        All its columns, the key among them, by name; None stands for a missing value.
    content
        The bytes of the file.
    """

    name: str
    key: str
    columns: Mapping[str, Sequence[Value]] = field(repr=False)
    content: bytes = field(repr=False)

    @classmethod
    def read(cls, name: str, key: str, content: bytes, file: str) -> PublicTable:
        """Read a CSV file; ``file`` is its name, for messages."""
        if len(content) > MAX_LOOKUP_BYTES:
            raise _refused(name, f"has {len(content):,} bytes", f"A look-up has at most {MAX_LOOKUP_BYTES:,}.")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _refused(name, f"is not UTF-8 text ({file})", "Save it as CSV in UTF-8.") from None
        if "\0" in text:
            raise _refused(name, "holds the character NUL", "Remove it.")
        heading, columns, rows = read_table_text(text, file)
        if len({one.casefold() for one in heading}) < len(heading) or not all(heading):
            raise _refused(name, "has two columns of one name, or one without a name", "Give each its own name.")
        if not rows:
            raise _refused(name, "has no rows", "Add a line for each key.")
        table = {
            one: [None if value == "" else value for value in values]
            for one, values in zip(heading, columns, strict=True)
        }
        key_column = _find(key, heading)
        if key_column is None:
            near = nearest(key, heading)
            raise _refused(
                name,
                f"has no column {key!r}",
                f"{f'Did you mean {near!r}? ' if near else ''}It has {', '.join(heading)}.",
            )
        if None in table[key_column]:
            number = table[key_column].index(None) + 1
            raise _refused(
                name, f"has no key in row {number}", f"Give every row a value of {key_column}, or remove the row."
            )
        return cls(name, key_column, table, content)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return hashlib.sha256(self.content).hexdigest()

    def find(self, column: str) -> str | None:
        """Return the column of that name, ignoring case, unless it is the key; None if there is none."""
        name = _find(column, self.columns)
        return None if name == self.key else name

    def keys(self, kind: str | None) -> tuple[str, list[int | str]]:
        """Return how a column of this kind is read to be looked up, and the keys so read; each is unique.

        ``kind`` is None where the column's kind is unknown.
        """
        texts = [str(value) for value in self.columns[self.key]]
        keys: Sequence[Value] = texts
        if kind in _NUMBERS:
            odd = next((text for text in texts if not _is_whole(text)), None)
            if odd is not None:
                raise _refused(self.name, f"has the key {odd!r}, which no number equals", "Write whole numbers.")
            keys = [int(text) for text in texts]
        elif kind in ("text", None):
            keys = parse_whole(list(texts))
        first: dict[object, str] = {}
        for key, text in zip(keys, texts, strict=True):
            if key in first:
                same = repr(text) if first[key] == text else f"{first[key]!r} and {text!r}, which are one number"
                raise _refused(self.name, f"has two rows with the key {same}", "Keep one row for each key.")
            first[key] = text
        return ("integer" if isinstance(keys[0], int) else "text"), [key for key in keys if key is not None]

    def looked_up(
        self, names: Sequence[str], kind: str | None
    ) -> tuple[str, tuple[LookedUpColumn, ...], frozenset[int | str]]:
        """Return how the looked-up column is read, the columns of these names, and all keys."""
        reads, keys = self.keys(kind)
        columns = []
        for name in names:
            values = parse_whole(list(self.columns[name]))
            whole = any(isinstance(value, int) for value in values)
            pairs = {key: value for key, value in zip(keys, values, strict=True) if value is not None}
            columns.append(LookedUpColumn(name, "integer" if whole else "text", pairs))
        return reads, tuple(columns), frozenset(keys)


def _refused(name: str, what: str, instead: str) -> InvalidInput:
    return InvalidInput(f"the look-up {name!r} {what}.", instead, argument="lookups")


def _find(name: str, names: Sequence[str] | Mapping[str, object]) -> str | None:
    if name in names:
        return name
    return next((one for one in names if one.casefold() == name.casefold()), None)


def _is_whole(text: str) -> bool:
    return re.fullmatch("-?[0-9]+", text) is not None and abs(int(text)) <= LARGEST_WHOLE


@dataclass(frozen=True)
class Lookup:
    """A look-up in a question: the column of the counted table that is looked up, and the columns that follow from it.

    Attributes
    ----------
    column
        The column that is looked up.
    reads
        How it is read: ``"integer"`` or ``"text"``.
    columns
        The columns of the look-up that the question uses.
    join
        The join with a public file; None for a CASE.
    digest
        The SHA-256 of that file; empty for a CASE.
    keys
        All keys, where rows without one vanish (an inner join); otherwise None.
    content
        The bytes of the file, for the bundle; None where the file was not read.
    """

    column: str
    reads: str
    columns: tuple[LookedUpColumn, ...]
    join: Join | None = None
    digest: str = ""
    keys: frozenset[int | str] | None = field(default=None, compare=False, repr=False)
    content: bytes | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of_file(cls, join: Join, public: PublicTable, names: Sequence[str], kind: str | None) -> Lookup:
        """Return the look-up of a column of this kind in a public file."""
        reads, columns, keys = public.looked_up(sorted(names), kind)
        return cls(
            join.column, reads, columns, join, public.digest, None if join.outer else keys, public.content
        )  # fmt: skip

    @classmethod
    def from_json(cls, join: Join, entry: object) -> Lookup:
        """Rebuild a look-up from a request, without its file."""
        misfit = InvalidInput("a look-up of this request is not one that a plan has.", argument="request")
        if not isinstance(entry, Mapping) or set(entry) != {"sha256", "reads", "columns"}:
            raise misfit
        digest, reads, columns = entry["sha256"], entry["reads"], entry["columns"]
        if not isinstance(columns, Mapping) or {reads, *columns.values()} - {"integer", "text"}:
            raise misfit
        if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest) or list(columns) != sorted(columns):
            raise misfit
        return cls(join.column, reads, tuple(LookedUpColumn(*pair) for pair in columns.items()), join, digest)

    def to_json(self) -> dict[str, Json]:
        """Return what a request states about the file: how it is read, its digest, and the columns that are used."""
        columns: dict[str, Json] = {column.name: column.kind for column in self.columns}
        return {"sha256": self.digest, "reads": self.reads, "columns": columns}

    def with_file(self, content: bytes) -> Lookup:
        """Return the look-up with its file, read again.

        Raises
        ------
        InvalidInput
            When the file is not the one of the digest, or does not have these columns and unique keys.
        """
        assert self.join is not None
        public = PublicTable.read(self.join.table, self.join.key, content, self.join.table)
        if public.digest != self.digest:
            raise _refused(self.join.table, "is not the file of the request", "Its SHA-256 differs.")
        names = [column.name for column in self.columns]
        if public.key != self.join.key or any(public.find(name) != name for name in names):
            raise _refused(self.join.table, "has other columns than the request", "It was changed.")
        again = Lookup.of_file(self.join, public, names, "integer" if self.reads == "integer" else "other")
        if again != self:
            raise _refused(self.join.table, "reads otherwise than the request states", "It was changed.")
        return again

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the columns that it gives."""
        return frozenset(column.name for column in self.columns)

    @property
    def key(self) -> str:
        """The key of its public table; empty for a CASE."""
        return "" if self.join is None else self.join.key

    @property
    def file_name(self) -> str:
        """The name of its public table; empty for a CASE."""
        return "" if self.join is None else self.join.table

    @property
    def name(self) -> str:
        """The name of the one column that a CASE gives."""
        return self.columns[0].name

    @cached_property
    def case_text(self) -> str:
        """Normalised SQL of a CASE."""
        (column,) = self.columns
        branches: dict[object, list[int | str]] = {}
        for key, value in (column.values or {}).items():
            branches.setdefault(value, []).append(key)
        parts = (
            f"WHEN {self._test(keys).text} THEN {Literal('VARCHAR', str(label)).text}"
            for label, keys in branches.items()
        )
        other = "" if column.default is None else f" ELSE {Literal('VARCHAR', column.default).text}"
        return f"CASE {' '.join(parts)}{other} END"

    @property
    def text(self) -> str:
        """Normalised SQL of a CASE and its name."""
        return f"{self.case_text} AS {name_text(self.name)}"

    def _test(self, keys: Sequence[int | str]) -> Compare | Member:
        type_ = "DOUBLE" if self.reads == "integer" else "VARCHAR"
        literals = sorted((Literal(type_, key) for key in keys), key=lambda literal: literal.value)
        term = SqlTerm("", self.column)
        return Compare(term, "=", literals[0]) if len(literals) == 1 else Member(term, tuple(literals))

    def rename(self, names: Callable[[str], str]) -> Lookup:
        """Return the same look-up of a column of another name."""
        column = names(self.column)
        return replace(self, column=column, join=None if self.join is None else replace(self.join, column=column))

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of a CASE, as if a question had them: for notes on how they read the column."""
        return [Condition(self._test(list(column.values or {}))) for column in self.columns if self.join is None]
