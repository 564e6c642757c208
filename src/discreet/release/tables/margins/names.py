"""The names of the files of tables at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: The measured signed marginals, and the list of tables.
MEASURED_FILE, TABLES_FILE = "measured.csv", "tables.csv"

#: Characters of a name that a file name keeps.
_MAX_NAME = 60


def table_file_names(tables: Sequence[Sequence[str]]) -> list[str]:
    """Return a file name for each table, from the names of its columns.

    >>> table_file_names([[], ["sex"], ["sex", "age group"], ["sex", "age-group"]])
    ['total.csv', 'by_sex.csv', 'by_sex_age_group.csv', 'by_sex_age_group_2.csv']
    """
    names: dict[str, None] = {}
    for columns in tables:
        plain = "_".join(re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower() or "column" for name in columns)
        stem = f"by_{plain[:_MAX_NAME]}" if columns else "total"
        name, number = stem, 1
        while name in names:
            number += 1
            name = f"{stem}_{number}"
        names[name] = None
    return [f"{name}.csv" for name in names]
