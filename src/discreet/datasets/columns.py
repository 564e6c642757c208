"""The public values of a column in a declaration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, InWords, WrongType
from ..questions.bands import DeclaredBands, bands_from, read_bands
from ..questions.declarations import declared_values, kind_of
from ..questions.domains import Rest, domain_values, split_domain
from ..report import Json
from ..wording import nearest
from .locations import relative_path
from .toml_domains import read_toml_domain, toml_domain

#: Keys of a column's inline table.
_KEYS = ("bands", "from")

_EXAMPLE = 'Write "1..6", ["good", "poor", "*"], { bands = [18, 30, 65] } or { from = "FILE" }.'


@dataclass(frozen=True)
class DeclaredColumn:
    """The public values of one column: listed, in bands, or the lines of a file.

    Attributes
    ----------
    name
        The name of the column.
    values
        A text such as ``"1..6"``, or a tuple of values whose last one may be ``"*"`` (all others); None for bands and
        files.
    bands
        The edges, as a text or a tuple; None where the column is not banded.
    file
        The file with one value on each line, relative to the declaration; None where the column has no file.

    Examples
    --------
    >>> DeclaredColumn.from_toml("site", "1..3").domain(Path())
    range(1, 4)
    >>> DeclaredColumn.from_toml("age", {"bands": [18, 30, 65]}).edges.labels()
    ('18-29', '30-64')
    """

    name: str
    values: str | tuple[str | int, ...] | None = None
    bands: str | tuple[Any, ...] | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        if self.bands is not None:
            _ = self.edges
        elif self.file is None:
            values = self.domain(Path())
            assert isinstance(values, Iterable)
            kind_of(values if isinstance(values, range) else declared_values(values, self.name), self.name)

    @classmethod
    def from_toml(cls, name: str, value: object) -> DeclaredColumn:
        """Read the value of a column in a declaration; no file is opened."""
        if isinstance(value, str) and value.strip().startswith("@"):
            raise InvalidInput(
                f"the values of {name!r} name a file.", f'Write {{ from = "{value.strip()[1:]}" }}.', argument="columns"
            )
        if isinstance(value, str):
            return cls(name, values=value)
        if isinstance(value, list) and value:
            return cls(name, values=tuple(value))
        if isinstance(value, Mapping) and len(value) == 1:
            (key, content) = next(iter(value.items()))
            if key == "bands" and isinstance(content, str | list) and content:
                return cls(name, bands=content if isinstance(content, str) else tuple(content))
            if key == "from" and isinstance(content, str) and content:
                return cls(name, file=content)
            if key not in _KEYS:
                near = nearest(str(key), _KEYS)
                suggestion = f"Did you mean {near}? " if near else ""
                raise InvalidInput(
                    f"the column {name!r} has no key {str(key)!r}.", f"{suggestion}{_EXAMPLE}", argument="columns"
                )
        raise InvalidInput(f"the column {name!r} has no values that can be read.", _EXAMPLE, argument="columns")

    @classmethod
    def from_python(cls, name: str, value: object) -> DeclaredColumn:
        """Read the values of a column in Python: a range, a list, a text, or the value in a declaration."""
        if isinstance(value, DeclaredColumn):
            return value
        if isinstance(value, str | Mapping):
            return cls.from_toml(name, dict(value) if isinstance(value, Mapping) else value)
        if not isinstance(value, Iterable) or isinstance(value, bytes):
            raise WrongType.must_be(
                f"the values of {name!r}", "a range, a list or a text such as 1..6", InWords(type(value).__name__),
                argument="columns",
            )  # fmt: skip
        values = value if isinstance(value, range) else declared_values(value, name)
        items = list(values) if not isinstance(values, range) and values[-1:] != ("*",) else values
        content = toml_domain(name, _with_ellipsis(items))
        return cls(name, values=content if isinstance(content, str) else tuple(content))

    @classmethod
    def parse_domain(cls, text: str, folder: Path) -> DeclaredColumn:
        """Read a domain of the command line, ``site=1..6``, for a declaration in this folder."""
        name, body = split_domain(text)
        if body.strip().startswith("@"):
            return cls(name, file=relative_path(body.strip()[1:], folder))
        domain_values(name, body)
        items = [item.strip() for item in body.split(",")]
        texts = all(item and item != "NULL" and not set(item) & set("'\".") for item in items)
        numbers = all(item.lstrip("-").isdecimal() for item in items)
        return cls(name, values=tuple(items) if texts and not numbers and len(items) > 1 else body.strip())

    @classmethod
    def parse_bands(cls, text: str) -> DeclaredColumn:
        """Read bands of the command line, ``age=18,30,65``."""
        name, body = split_domain(text, "bands")
        return cls(name, bands=body.strip())

    @property
    def edges(self) -> DeclaredBands:
        """The bands of a banded column."""
        assert self.bands is not None
        if isinstance(self.bands, str):
            return read_bands(self.name, self.bands)
        words: dict[object, object] = {"*": ..., "NULL": None}
        texts = [edge for edge in self.bands if isinstance(edge, str)]
        if any(".." in text for text in texts):
            return read_bands(self.name, ",".join(map(str, self.bands)))
        return bands_from(self.name, [words.get(edge, edge) if isinstance(edge, str) else edge for edge in self.bands])

    def domain(self, folder: Path) -> object:
        """Return the values as a domain in Python; a file is relative to the declaration's folder."""
        if self.file is not None:
            return domain_values(self.name, f"@{folder / self.file}")
        values = list(self.values) if isinstance(self.values, tuple) else self.values
        return read_toml_domain(self.name, values, folder)

    def moved_to(self, folder: Path, to: Path) -> DeclaredColumn:
        """Return the same column for a declaration in another folder."""
        return self if self.file is None else replace(self, file=relative_path(folder / self.file, to))

    def to_toml(self) -> Json:
        """Return the value of the column in a declaration."""
        if self.bands is not None:
            return {"bands": self.bands if isinstance(self.bands, str) else list(self.bands)}
        if self.file is not None:
            return {"from": self.file}
        return self.values if isinstance(self.values, str) else list(self.values or ())


def _with_ellipsis(values: Iterable[object]) -> Iterable[object]:
    if isinstance(values, range):
        return values
    return [... if isinstance(value, Rest) else value for value in values]
