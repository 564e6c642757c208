"""A request as TOML: one field a line, a comment over each, long questions folded without changing them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ...report import Json

#: Lines are folded beyond this.
_WIDE = 88

#: Fields in the order in which people read them, and what is said of each. Others follow, without a comment.
COMMENTS: dict[str, str] = {
    "questions": "What is asked.",
    "data": "The table, relative to this file, or the address of a database. A password never stands here.",
    "ledger": "The budget that pays, and the folder that the bundle is written to.",
    "out": "",
    "dataset": "Whose people these are, and the state of their data.",
    "edition": "",
    "unit": "Whose data is protected: a person by a column, or row.",
    "max_groups": "In how many groups one person is counted at most.",
    "relation": "",
    "epsilon": "The privacy of the whole release, per unit; or the error that is allowed.",
    "delta": "",
    "error": "",
    "mechanism": "The noise, and the form of the counts.",
    "properties": "",
    "loss": "",
    "counts": "",
    "bound": "Public facts about the counts.",
    "sizes": "",
    "split": "The parts of epsilon of the questions.",
    "suppress_below": "What is withheld, by the noisy count alone.",
    "level": "How often intervals cover.",
    "groups": "The public groups, one row each; never taken from the data.",
    "zeros": "Groups that cannot exist.",
    "totals": "Columns to publish totals over as well.",
    "bands": "Edges of the columns that are counted in bands.",
    "discover": "Columns whose values are found in the data, where enough people have them.",
    "one_row_each": "",
    "domain": "The public values of each group column; never taken from the data.",
}


def toml_text(content: Mapping[str, Json], heading: Sequence[str]) -> str:
    """The content of a request file, under comments that say what it is."""
    names = [*(name for name in COMMENTS if name in content), *(name for name in content if name not in COMMENTS)]
    stamps = [name for name in ("format", "version") if name in names]
    tables = [name for name in names if isinstance(content[name], Mapping)]
    lines = [f"# {line}" for line in heading]
    lines += [f"{name} = {_value(content[name])}" for name in stamps]
    for name in names:
        if name in stamps or name in tables:
            continue
        lines += _comment(name)
        lines.append(f"{_key(name)} = {_value(content[name])}")
    for name in tables:
        table = content[name]
        assert isinstance(table, Mapping)
        lines += [*_comment(name), f"[{_key(name)}]"]
        lines += [f"{_key(one)} = {_value(value)}" for one, value in table.items()]
    return "\n".join(lines) + "\n"


def _comment(name: str) -> Iterator[str]:
    if COMMENTS.get(name):
        yield ""
        yield f"# {COMMENTS[name]}"


def _key(name: str) -> str:
    """A key, bare where TOML allows it.

    >>> _key("site"), _key("marital status")
    ('site', '"marital status"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A text on one line: what JSON writes, TOML reads."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Json) -> str:
    if isinstance(value, str):
        return _text(value) if len(value) <= _WIDE and "\n" not in value else _folded(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(one)}" for name, one in value.items()) + " }"
    assert isinstance(value, Sequence)
    items = [_value(one) for one in value]
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
