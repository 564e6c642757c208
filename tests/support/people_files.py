"""The same people in files of each kind."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd


def people(folder: Path, kind: str, values: list[object]) -> Path:
    """The same column in a file of each kind, beside another column."""
    frame = pd.DataFrame({"name": [f"p{k}" for k in range(len(values))], "visits": values})
    file = folder / f"people.{kind}"
    if kind == "csv":
        frame.to_csv(file, index=False)
    elif kind == "parquet":
        frame.to_parquet(file)
    else:
        with duckdb.connect(str(file)) as store:
            store.execute("CREATE TABLE people AS SELECT * FROM frame")
    return file
