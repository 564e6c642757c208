"""What a forger does to files: every field altered, removed, added or named twice, every line, every file.

A change says which file it is in, which field (positions in lists as []) and how it was made. Digests within mechanism
files are renewed with it; whoever applies it renews the checksums of the folder.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.mechanism import FORMAT, fingerprint

Path = tuple[str | int, ...]

#: The files of a folder by name.
Files = dict[str, bytes]

#: A name that stands for the second of two equal names until the text is written.
_TWICE = "\u2021twice\u2021"


@dataclass(frozen=True)
class Change:
    """One thing that a forger does to the files of a folder."""

    file: str
    field: str
    how: str
    files: Files

    def __str__(self) -> str:
        return f"{self.file}: {self.field or '(the whole)'} {self.how}"


# ------------------------------------------------------------------------------------------------ JSON


def json_changes(files: Files, name: str) -> Iterator[Change]:
    """Alter, remove, add and repeat every field of a JSON file, and write it otherwise."""
    text = files[name].decode()
    content = json.loads(text)
    ascii_only = name.startswith("mechanism")

    def change(path: Path, how: str, altered: object) -> Change:
        if path[-1:] != ("sha256",):
            renew_digests(altered)
        return _changed(files, name, spelled(path), how, _written(altered, ascii_only))

    for path, value in nodes(content):
        for how, other in _otherwise(value):
            yield change(path, how, _put(content, path, other))
        if path and isinstance(path[-1], str):
            yield change(path, "removed", _without(content, path))
            before = _named_twice(content, path, next(other for _, other in _otherwise(value)), first=True)
            yield change(path, "named twice, a false one first", before)
            yield change(path, "named twice, the same last", _named_twice(content, path, value, first=False))
        if isinstance(value, dict):
            yield change(path, "a field added", _put(content, path, {**value, "approved_by": "the board"}))
            yield change(path, "an empty field added", _put(content, path, {**value, "approved_by": None}))
            if len(value) > 1:
                yield change(path, "fields in another order", _put(content, path, dict(reversed(value.items()))))
    for how, written in (
        ("written on one line", json.dumps(content, ensure_ascii=ascii_only) + "\n"),
        ("without its last line end", text[:-1]),
        ("with a blank at the end", text + " \n"),
        ("with other line ends", text.replace("\n", "\r\n")),
        ("with a byte order mark", "\ufeff" + text),
        ("with a letter written as its number", text.replace('"format"', '"\\u0066ormat"', 1)),
    ):
        yield _changed(files, name, "", how, written)


def nodes(content: object, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every place of a JSON value, the whole first; of a long list only the first and the last place."""
    yield path, content
    if isinstance(content, dict):
        for name, value in content.items():
            yield from nodes(value, (*path, name))
    elif isinstance(content, list):
        for place in sorted({0, len(content) - 1} if content else ()):
            yield from nodes(content[place], (*path, place))


def spelled(path: Path) -> str:
    """Write a place as people do: names with points between, [] for any position in a list."""
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def renew_digests(content: object) -> None:
    """Renew the digest of every mechanism in a JSON value, as a forger would."""
    if isinstance(content, dict):
        for value in content.values():
            renew_digests(value)
        if content.get("format") == FORMAT and "sha256" in content:
            content["sha256"] = fingerprint(content)
    elif isinstance(content, list):
        for value in content:
            renew_digests(value)


def _otherwise(value: object) -> Iterator[tuple[str, object]]:
    """Yield other values: the first one differs in what it says, the others only in their kind."""
    if isinstance(value, bool):
        yield "altered", not value
        yield "as a number", int(value)
    elif isinstance(value, int):
        yield "altered", value + 1
        yield "as a decimal", float(value) if abs(value) < 2**53 else str(value)
        yield "as a text", str(value)
    elif isinstance(value, float):
        yield "altered", value * 0.5 + 0.001
        yield "slightly altered", value * (1 - 1e-9) - 1e-15
    elif isinstance(value, str):
        yield "altered", _other_text(value)
        yield "replaced", "approved by the board"
    elif value is None:
        yield "altered", 1
    elif isinstance(value, list):
        yield "emptied", [] if value else [1]
        if value:
            yield "shortened", value[:-1]
            yield "its last repeated", [*value, copy.deepcopy(value[-1])]
        if value != value[::-1]:
            yield "in another order", value[::-1]
    else:
        yield "emptied", {} if value else {"approved_by": "the board"}


def _other_text(text: str) -> str:
    place = next((k for k, letter in enumerate(text) if letter.isdigit()), None)
    if place is None:
        return f"{text}x"
    return f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"


def _parent(content: object, path: Path) -> tuple[Any, Any]:
    """Return a copy of a JSON value, and what holds the place in it."""
    whole = copy.deepcopy(content)
    holder: Any = whole
    for step in path[:-1]:
        holder = holder[step]
    return whole, holder


def _put(content: object, path: Path, value: object) -> object:
    if not path:
        return copy.deepcopy(value)
    whole, holder = _parent(content, path)
    holder[path[-1]] = copy.deepcopy(value)
    return whole


def _without(content: object, path: Path) -> object:
    whole, holder = _parent(content, path)
    del holder[path[-1]]
    return whole


def _named_twice(content: object, path: Path, other: object, first: bool) -> object:
    whole, holder = _parent(content, path)
    pairs = list(holder.items())
    place = next(k for k, (name, _) in enumerate(pairs) if name == path[-1])
    pairs.insert(place if first else place + 1, (f"{path[-1]}{_TWICE}", copy.deepcopy(other)))
    holder.clear()
    holder.update(pairs)
    return whole


def _written(content: object, ascii_only: bool) -> str:
    text = json.dumps(content, indent=1, ensure_ascii=False).replace(_TWICE, "") + "\n"
    return text if not ascii_only else "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)


# ------------------------------------------------------------------------------------------------ tables and texts


def csv_changes(files: Files, name: str) -> Iterator[Change]:
    """Alter every cell of the first and the last lines of a table, and every line."""
    lines = files[name].decode().split("\n")[:-1]
    headings = lines[0].split(",")
    for number in sorted({0, 1, len(lines) - 1}):
        cells = lines[number].split(",")
        if len(cells) != len(headings):
            continue  # a label with a comma
        for k, heading in enumerate(headings):
            for how, other in _other_cells(cells[k]):
                line = ",".join([*cells[:k], other, *cells[k + 1 :]])
                field = heading if number else "headings"
                yield _changed(files, name, field, how, _joined([*lines[:number], line, *lines[number + 1 :]]))
    yield from _line_changes(files, name, range(len(lines)))
    wider = _joined([f"{line},{7 if k else 'exact_count'}" for k, line in enumerate(lines)])
    yield _changed(files, name, "", "a column added", wider)


def _other_cells(cell: str) -> Iterator[tuple[str, str]]:
    yield "altered", _other_text(cell) if cell else "1"
    yield "emptied" if cell else "filled", "" if cell else "0"
    yield "in quotes", f'"{cell}"'
    yield "with a blank", f" {cell}"
    if any(map(str.isdigit, cell)) and cell.isascii():
        yield "with a sign", f"+{cell}"
        yield "with further zeros", f"{cell}0" if "." in cell else f"{cell}.0"


def text_changes(files: Files, name: str, step: int = 1) -> Iterator[Change]:
    """Alter, remove and repeat lines of a text, of which every ``step``-th is looked at."""
    lines = files[name].decode().split("\n")[:-1]
    places = range(0, len(lines), step)
    for k in places:
        altered = [*lines[:k], f"{lines[k]} (approved)", *lines[k + 1 :]]
        yield _changed(files, name, "a line", "altered", _joined(altered))
    yield from _line_changes(files, name, places)


def _line_changes(files: Files, name: str, places: Sequence[int]) -> Iterator[Change]:
    text = files[name].decode()
    lines = text.split("\n")[:-1]
    for k in places:
        yield _changed(files, name, "a line", "removed", _joined([*lines[:k], *lines[k + 1 :]]))
        if lines[k]:
            yield _changed(files, name, "a line", "repeated", _joined([*lines[: k + 1], *lines[k:]]))
        if k and lines[k] != lines[k - 1]:
            swapped = [*lines[: k - 1], lines[k], lines[k - 1], *lines[k + 1 :]]
            yield _changed(files, name, "a line", "moved", _joined(swapped))
    yield _changed(files, name, "", "a line added", text + "approved\n")
    yield _changed(files, name, "", "an empty line added", text + "\n")
    yield _changed(files, name, "", "without its last line end", text[:-1])
    yield _changed(files, name, "", "with other line ends", text.replace("\n", "\r\n"))
    yield _changed(files, name, "", "with a byte order mark", "\ufeff" + text)


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# ------------------------------------------------------------------------------------------------ files


def file_changes(files: Files) -> Iterator[Change]:
    """Remove, add, empty, rename and exchange files."""
    for name in files:
        others = {other: data for other, data in files.items() if other != name}
        yield Change(name, "", "removed", others)
        yield Change(name, "", "emptied", {**files, name: b""})
        yield Change(name, "", "under another name", {**others, f"old_{name}": files[name]})
        yield Change(name, "", "twice", {**files, f"copy_{name}": files[name]})
    for name in ("exact.csv", "counts_9.csv", "counts_rounded.csv", "mechanism_9.json", "README.md", ".hidden"):
        if name not in files:
            yield Change(name, "", "added", {**files, name: b"Site 3 has 4,711 people (exact).\n"})


def _changed(files: Files, name: str, field: str, how: str, text: str) -> Change:
    return Change(name, field, how, {**files, name: text.encode()})


def every_change(files: Files, page_step: int = 1) -> Iterator[Change]:
    """Yield every change of every file of a bundle but its checksums."""
    writers: dict[str, Callable[[Files, str], Iterator[Change]]] = {
        ".json": json_changes, ".csv": csv_changes, ".md": text_changes,
        ".html": lambda known, name: text_changes(known, name, page_step),
    }  # fmt: skip
    yield from file_changes(files)
    for name in files:
        ending = name[name.rindex(".") :]
        yield from (change for change in writers[ending](files, name) if change.files[name] != files[name])
