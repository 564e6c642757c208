"""Finding the declaration that a question means: in one folder, by the name of its table."""

from __future__ import annotations

from pathlib import Path

from ..errors import DiscreetError, InvalidInput, arg, call
from ..wording import in_sql, listed, nearest
from .declaration import ENDING, FORMAT, Declaration

#: Larger files are not declarations, in bytes.
_MAX_SIZE = 10_000_000


def find_declaration(table: str, folder: Path) -> Declaration:
    """Return the one declaration in a folder that has this table.

    Only files of the folder itself are read: no folders above or below it, and no links that lead out of it. The name
    of the table is compared, and never part of a path.

    Raises
    ------
    InvalidInput
        When there is none, or more than one.
    """
    declared = declarations_in(folder)
    fitting = [one for one in declared if one.table_named(table) is not None]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = listed([one.name for one in fitting], "and")
        raise InvalidInput(
            f"the table {table!r} is declared in {names}.", f"Say which is meant: {arg('dataset', fitting[0].name)}."
        )
    if declared:
        tables = sorted(name for one in declared for name in one.tables)
        near = nearest(table, tables)
        known = f"Did you mean {in_sql(near)}?" if near else f"Declared are {listed([*map(in_sql, tables)], 'and')}."
        raise InvalidInput(
            f"no dataset in this folder declares the table {table!r}.",
            f"{known} Or say where it is: {arg('data', 'FILE')}.",
        )
    made = call("dc.Dataset(...)", "discreet dataset new FILE --unit COLUMN --budget EPSILON")
    raise InvalidInput(
        f"say which table is meant: {arg('data', 'FILE')}, or the address of a database.",
        f"Or declare it once, with {made}.",
    )


def declarations_in(folder: Path) -> list[Declaration]:
    """Return the declarations in a folder, in the order of their names; a stamped file that is wrong is refused."""
    declared = []
    for file in sorted(folder.glob(f"*{ENDING}")):
        text = _stamped_text(file, folder)
        if text is not None:
            declared.append(Declaration.from_text(text, file))
    return declared


def is_declaration(path: str) -> bool:
    """Return whether a text is the name of a declaration, by its ending."""
    return path.lower().endswith(ENDING)


def _stamped_text(file: Path, folder: Path) -> str | None:
    """Return the text of a file that is stamped as a declaration; None for any other file."""
    try:
        inside = file.resolve().is_relative_to(folder.resolve())
        if not inside or not file.is_file() or file.stat().st_size > _MAX_SIZE:
            return None
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError, DiscreetError):
        return None
    stamp = (line for line in text.splitlines() if line.replace(" ", "").startswith("format="))
    return text if any(FORMAT in line for line in stamp) else None
