"""Keys and values as TOML writes them; long texts are folded without changing them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ..report import Json

#: Lines are folded beyond this.
_WIDE = 88


def toml_key(name: str) -> str:
    """Return a key, bare where TOML allows it.

    >>> toml_key("site"), toml_key("marital status")
    ('site', '"marital status"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A text on one line: what JSON writes, TOML reads."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: Json) -> str:
    """Return a value as TOML, in several lines where it is long."""
    if isinstance(value, str):
        return _text(value) if len(value) <= _WIDE and "\n" not in value else _folded(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(name)} = {toml_value(one)}" for name, one in value.items()) + " }"
    assert isinstance(value, Sequence)
    items = [toml_value(one) for one in value]
    line = f"[{', '.join(items)}]"
    return line if len(line) <= _WIDE and "\n" not in line else "[\n" + "".join(f"  {one},\n" for one in items) + "]"


def _folded(text: str) -> str:
    """A long text in several lines that TOML joins again: a backslash at the end of a line takes the break away."""
    escaped = _text(text)[1:-1].replace("\\n", "\n")
    lines: list[str] = []
    for line in re.sub(r"(?<=[^\s\\]) (?=(?:FROM|WHERE|GROUP BY)\b)", " \\\n", escaped).split("\n"):
        lines += _wrapped(line)
    return '"""\n' + "\n".join(lines) + '"""'


def _wrapped(line: str) -> Iterator[str]:
    """A line in pieces that end in a blank and a backslash, cut before words only."""
    while len(line) > _WIDE and (
        cuts := [found.end() for found in re.finditer(r"[^\s\\] (?=[^\s\\])", line) if found.end() <= _WIDE]
    ):
        yield line[: cuts[-1]] + "\\"
        line = line[cuts[-1] :]
    yield line
