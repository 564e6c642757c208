"""Export a release for other programs; the ending of the file's name chooses the format."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from ...errors import InvalidInput
from ...strict_json import read_json
from ..bundle.contents import MALFORMED
from ..bundle.frames import to_arrow
from ..bundle.released import Release
from .csvw import ENDING, csvw_metadata, data_files
from .excel import write_excel
from .registry import registry_record, yaml_text
from .target import refuse_folder_of

#: Ending of a file's name -> the content of such a file.
FORMS = {
    ".xlsx": "an Excel workbook: the table to read, all data, and the guarantee (extra excel)",
    ".parquet": "one table as Parquet (extra frames)",
    ENDING: "the metadata of the CSV files (W3C CSVW), and copies of these beside it, named after it",
    ".yaml": "a record for the public registry of deployments of differential privacy",
}


def export(release: Release, path: str | Path, *, table: int = 0) -> list[Path]:
    """Export a release in the format of the file's ending; return the files.

    Parameters
    ----------
    release
        A release of :func:`discreet.release_counts`, or the bundle that :func:`discreet.open_bundle` returns.
    path
        The file: .xlsx, .parquet, counts.csv-metadata.json or .yaml. It is replaced if it exists. It must not be in the
        folder of a bundle, which would then fail its checks. CSV files are written next to their metadata, named after
        it, and replace no other file.
    table
        The number of the table, from 0, for .parquet, which holds one table.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "visits.csv").write_text("site\\n1\\n2\\n")
    >>> _ = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="row", epsilon=2)
    >>> release = dc.release_counts(
    ...     "SELECT COUNT(*) FROM visits", data=folder / "visits.csv", unit="row", epsilon=1,
    ...     ledger=folder / "visits.ledger",
    ... )
    >>> [file.name for file in dc.export(release, folder / "counts.csv-metadata.json")]
    ['counts.csv', 'counts.csv-metadata.json']
    """
    file = Path(path)
    write = _writer(file)
    refuse_folder_of(file)
    try:
        return write(release, file, table)
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
    raise InvalidInput(f"cannot write {file}: {why}.", "Choose another place.", argument="path")


def _writer(file: Path) -> Callable[[Release, Path, int], list[Path]]:
    for ending, write in _WRITERS.items():
        if file.name.lower().endswith(ending):
            return write
    raise InvalidInput.must_be("path", f"a file whose name ends in {', '.join(FORMS)}", file.name)


def _excel(release: Release, file: Path, table: int) -> list[Path]:
    return [write_excel(release, file)]


def _parquet(release: Release, file: Path, table: int) -> list[Path]:
    frame = to_arrow(release.table(table))
    from pyarrow import parquet

    parquet.write_table(frame, os.fspath(file))
    return [file]


def _csvw(release: Release, file: Path, table: int) -> list[Path]:
    names = data_files(file.name, len(release.tables))
    tables = [file.with_name(name) for name in names]
    texts = [one.csv_text().encode() for one in release.tables]
    replaceable = _described_files(file)
    for place, text in zip(tables, texts, strict=True):
        if place.exists() and place.name not in replaceable and place.read_bytes() != text:
            raise InvalidInput(
                f"{place} exists already and holds something else.",
                f"Choose another name for {file.name}: the CSV files are named after it.",
                argument="path",
            )
    for place, text in zip(tables, texts, strict=True):
        place.write_bytes(text)
    file.write_text(json.dumps(csvw_metadata(release, names), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [*tables, file]


def _described_files(file: Path) -> set[str]:
    """Return the CSV files that the existing metadata describes: those that new metadata may replace."""
    try:
        return {str(table["url"]) for table in read_json(file.read_bytes(), file.name)["tables"]}
    except (OSError, *MALFORMED):
        return set()


def _registry(release: Release, file: Path, table: int) -> list[Path]:
    file.write_text(yaml_text(registry_record(release)), encoding="utf-8")
    return [file]


_WRITERS: dict[str, Callable[[Release, Path, int], list[Path]]] = {
    ".xlsx": _excel, ".parquet": _parquet, ENDING: _csvw, ".yaml": _registry,
}  # fmt: skip
