"""Domains in a TOML file: a range, a list, or the lines of a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..questions.domains import domain_values, has_rest


def read_toml_domain(column: str, values: object, folder: Path) -> object:
    """Read the domain of a column in a TOML file of this folder; return it as Python has domains.

    >>> read_toml_domain("site", "1..3,*", Path()), read_toml_domain("health", ["good", "*"], Path())
    ((1, 2, 3, Ellipsis), ['good', Ellipsis])
    """
    if isinstance(values, list) and values[-1:] == ["*"]:  # in a list, "*" at the end means all other values
        return [*values[:-1], ...] if values[1:] else domain_values(column, "*")
    if not isinstance(values, str):
        return values
    body = values.strip()
    star = ",*" if body.endswith(",*") else ""  # after the name of a file: all other values
    file = body[1:].removesuffix(",*")
    domain = domain_values(column, f"@{folder / file}{star}" if body.startswith("@") else values)
    return (*domain[:-1], ...) if has_rest(domain) else domain


def toml_domain(column: str, values: Iterable[object]) -> str | list[Any]:
    """Return a domain as a TOML file has it: a list, or a text if it has missing or other values.

    >>> toml_domain("site", range(1, 7)), toml_domain("health", ["good", None, ...]), toml_domain("sex", ["f"])
    ('1..6', '"good",NULL,*', ['f'])
    """
    if isinstance(values, range) and values.step == 1 and len(values) > 1:
        return f"{values[0]}..{values[-1]}"
    items = list(values)
    words = {id(None): "NULL", id(...): "*"}  # values that TOML cannot express
    if any(id(one) in words for one in items) or items[-1:] == [
        "*"
    ]:  # a "*" at the end of a list would mean all others
        texts = [words.get(id(one)) or (str(one) if type(one) is int else _quoted(str(one))) for one in items]
        domain_values(column, ",".join(texts))  # refuses now what reading the file would refuse
        return ",".join(texts)
    return items


def _quoted(text: str) -> str:
    escaped = text.replace('"', '""')
    return f'"{escaped}"'
