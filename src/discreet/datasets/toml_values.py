"""Keys and values as TOML; long texts are folded without changing their value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ..report import Json

#: Maximum characters of a line; longer ones are folded.
_WIDTH = 88


def toml_key(name: str) -> str:
    """Return a TOML key, without quotes where TOML allows it.

    >>> toml_key("site"), toml_key("marital status")
    ('site', '"marital status"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """Return a text on one line, as JSON, which TOML reads."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: Json) -> str:
    """Return a TOML value, on several lines where it is long."""
    if isinstance(value, str):
        return _text(value) if len(value) <= _WIDTH and "\n" not in value else _fold(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(name)} = {toml_value(one)}" for name, one in value.items()) + " }"
    assert isinstance(value, Sequence)
    items = [toml_value(one) for one in value]
    line = f"[{', '.join(items)}]"
    return line if len(line) <= _WIDTH and "\n" not in line else "[\n" + "".join(f"  {one},\n" for one in items) + "]"


def _fold(text: str) -> str:
    """Return a long text on several lines; a backslash at the end of a line removes the break."""
    escaped = _text(text)[1:-1].replace("\\n", "\n")
    lines: list[str] = []
    for line in re.sub(r"(?<=[^\s\\]) (?=(?:FROM|WHERE|GROUP BY)\b)", " \\\n", escaped).split("\n"):
        lines += _wrap(line)
    return '"""\n' + "\n".join(lines) + '"""'


def _wrap(line: str) -> Iterator[str]:
    """Yield a line in pieces that end in a blank and a backslash, cut before words only."""
    while len(line) > _WIDTH and (
        cuts := [match.end() for match in re.finditer(r"[^\s\\] (?=[^\s\\])", line) if match.end() <= _WIDTH]
    ):
        yield line[: cuts[-1]] + "\\"
        line = line[cuts[-1] :]
    yield line
