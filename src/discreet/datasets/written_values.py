"""Public values of a column as a TOML file has them: a range, a list, or the lines of a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..questions.domains import domain_values, has_rest


def read_written_values(column: str, values: object, folder: Path) -> object:
    """Return the values that a file in this folder declares, as a domain in Python has them.

    >>> read_written_values("site", "1..3,*", Path()), read_written_values("health", ["good", "*"], Path())
    ((1, 2, 3, Ellipsis), ['good', Ellipsis])
    """
    if isinstance(values, list) and values[-1:] == ["*"]:  # a list of TOML has no quotes that tell the star from a text
        return [*values[:-1], ...] if values[1:] else domain_values(column, "*")
    if not isinstance(values, str):
        return values
    body = values.strip()
    star = ",*" if body.endswith(",*") else ""  # behind a file: all other values
    place = body[1:].removesuffix(",*")
    read = domain_values(column, f"@{folder / place}{star}" if body.startswith("@") else values)
    return (*read[:-1], ...) if has_rest(read) else read


def written_values(column: str, values: Iterable[object]) -> str | list[Any]:
    """Return the values of a domain as a file has them: a text where TOML has no word for one of them, or a list.

    >>> written_values("site", range(1, 7)), written_values("health", ["good", None, ...]), written_values("sex", ["f"])
    ('1..6', '"good",NULL,*', ['f'])
    """
    if isinstance(values, range) and values.step == 1 and len(values) > 1:
        return f"{values[0]}..{values[-1]}"
    listed = list(values)
    words = {id(None): "NULL", id(...): "*"}  # for which TOML has no word
    if any(id(one) in words for one in listed) or listed[-1:] == ["*"]:  # there, a list would mean all others
        texts = [words.get(id(one)) or (str(one) if type(one) is int else _quoted(str(one))) for one in listed]
        domain_values(column, ",".join(texts))  # what would be questioned when it is read is questioned now
        return ",".join(texts)
    return listed


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
