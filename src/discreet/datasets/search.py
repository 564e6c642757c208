"""Find the declaration for a question: in one folder, by the name of its table."""

from __future__ import annotations

from pathlib import Path

from ..errors import DiscreetError, InvalidInput, arg, call
from ..wording import in_sql, listed, nearest
from .declaration import ENDING, FORMAT, Declaration

#: Maximum size of a declaration in bytes; larger files are skipped.
_MAX_FILE_BYTES = 10_000_000


def find_declaration(table: str, folder: Path) -> Declaration:
    """Return the one declaration in a folder that has this table.

    Only files of the folder itself are read: no folders above or below it, and no links out of it. The name of the
    table is compared, and never becomes part of a path.

    Raises
    ------
    InvalidInput
        When no declaration has the table, or several have it.
    """
    declarations = declarations_in(folder)
    matches = [one for one in declarations if one.find_table(table) is not None]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = listed([one.name for one in matches], "and")
        raise InvalidInput(
            f"the table {table!r} is declared in {names}.", f"Say which is meant: {arg('dataset', matches[0].name)}."
        )
    if declarations:
        tables = sorted(name for one in declarations for name in one.tables)
        near = nearest(table, tables)
        hint = f"Did you mean {in_sql(near)}?" if near else f"Declared are {listed([*map(in_sql, tables)], 'and')}."
        raise InvalidInput(
            f"no dataset in this folder declares the table {table!r}.",
            f"{hint} Or say where it is: {arg('data', 'FILE')}.",
        )
    how = call("dc.Dataset(...)", "discreet dataset new FILE --unit COLUMN --budget EPSILON")
    raise InvalidInput(
        f"say where the table is: {arg('data', 'FILE')}, or the address of a database.",
        f"Or declare it once, with {how}.",
    )


def declarations_in(folder: Path) -> list[Declaration]:
    """Return the declarations in a folder, in the order of their names; refuse an invalid one."""
    declarations = []
    for file in sorted(folder.glob(f"*{ENDING}")):
        text = _declaration_text(file, folder)
        if text is not None:
            declarations.append(Declaration.from_text(text, file))
    return declarations


def is_declaration(path: str) -> bool:
    """Return whether a path has the ending of a declaration."""
    return path.lower().endswith(ENDING)


def _declaration_text(file: Path, folder: Path) -> str | None:
    """Return the text of a file with the format of a declaration; None for any other file."""
    try:
        inside = file.resolve().is_relative_to(folder.resolve())
        if not inside or not file.is_file() or file.stat().st_size > _MAX_FILE_BYTES:
            return None
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError, DiscreetError):
        return None
    stamp = (line for line in text.splitlines() if line.replace(" ", "").startswith("format="))
    return text if any(FORMAT in line for line in stamp) else None
