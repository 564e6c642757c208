"""Files of other formats, recognised by name, first bytes and heading, and how to convert them.

Nothing here looks at rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import UnreadableFile

#: Endings of names -> the format, and how to make its table readable.
_BY_NAME = {
    (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"): (
        "a spreadsheet",
        "Save the sheet as CSV UTF-8 (comma separated) and give that file; in Python: "
        "pandas.read_excel({name!r}).to_parquet('{stem}.parquet')",
    ),
    (".feather", ".arrow", ".ipc"): (
        "an Arrow file",
        "Write it as Parquet; in Python: polars.read_ipc({name!r}).write_parquet('{stem}.parquet')",
    ),
    (".sqlite", ".sqlite3"): (
        "an SQLite database",
        "Export its table: sqlite3 -header -csv {name} 'SELECT * FROM table' > {stem}.csv",
    ),
    (".rds", ".rda", ".rdata"): ("an R file", "Write it as CSV; in R: write.csv(readRDS({name!r}), ...)"),
    (".sav", ".dta", ".sas7bdat", ".por", ".xpt"): (
        "a file of a statistics package",
        "Write it as CSV there, or in Python: pandas.read_spss, read_stata or read_sas, then to_parquet",
    ),
    (".json", ".jsonl", ".ndjson"): (
        "a JSON file",
        "Write it as Parquet; in Python: pandas.read_json({name!r}).to_parquet('{stem}.parquet')",
    ),
    (".txt", ".dat"): (
        "a text file whose columns are not known",
        "If its fields are separated by commas, name it .csv; by tabs, .tsv",
    ),
    (".npy", ".npz", ".pkl", ".pickle"): (
        "a Python file",
        "Write the table as Parquet; in Python: pandas.DataFrame(...).to_parquet('{stem}.parquet')",
    ),
}

#: First bytes of files -> the format and its ending. Each is refused under another name.
_BY_FIRST_BYTES = {
    b"PAR1": ("a Parquet file", ".parquet"),
    b"SQLite format 3\0": ("an SQLite database", ".sqlite"),
    b"PK\x03\x04": ("a spreadsheet or a zip file", ".xlsx"),
    b"\xd0\xcf\x11\xe0": ("a spreadsheet", ".xls"),
    b"ARROW1": ("an Arrow file", ".arrow"),
    b"\x1f\x8b": ("packed by gzip", ".gz"),
    b"\x28\xb5\x2f\xfd": ("packed by zstd", ".zst"),
    b"\xff\xfe": ("text in UTF-16", ".utf16"),
    b"\xfe\xff": ("text in UTF-16", ".utf16"),
}

_UTF16 = (
    'Name its encoding where the dataset is declared: encoding = "utf-16"; or save it as CSV UTF-8; on a terminal: '
    "iconv -f UTF-16 -t UTF-8 {name} > {stem}_utf8.csv"
)


def refuse_foreign_format(path: Path, ending: str | None, readable: Sequence[str], encoding: str = "utf-8") -> None:
    """Refuse a file that is of another format than those that are read, and say what it is.

    Parameters
    ----------
    path
        An existing file.
    ending
        The supported format that its name states, or None.
    readable
        The endings of the formats that are read.
    encoding
        The declared encoding of a CSV file.
    """
    if ending is None:
        format_ = next((what for endings, what in _BY_NAME.items() if path.name.lower().endswith(endings)), None)
        if format_ is None:
            raise UnreadableFile(
                f"cannot read {path}: its name must end in {', '.join(readable)} (.csv and .tsv also .gz, .zst)."
            )
        raise _refused(path, *format_)
    try:
        with path.open("rb") as stream:
            first = stream.read(16)
    except OSError:
        raise UnreadableFile(f"cannot read {path}: this user may not read it.") from None
    for sign, (what, should_end) in _BY_FIRST_BYTES.items():
        if first.startswith(sign) and not path.name.lower().endswith(should_end):
            if encoding != "utf-8" and should_end == ".utf16":
                continue  # what its first bytes say of the encoding is judged with the heading
            if should_end == ".utf16":
                raise _refused(path, what, _UTF16)
            known = next((advice for endings, (_, advice) in _BY_NAME.items() if should_end in endings), None)
            raise _refused(path, what, known or f"Give it a name that ends in {should_end}")


#: Folders with a log of which files are current -> the table format.
_LOGS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi", "metadata": "Iceberg"}


def refuse_table_with_a_log(folder: Path) -> None:
    """Refuse a folder whose files hold several versions of a row, of which a log names the one in force."""
    for name, whose in _LOGS.items():
        log = folder / name
        if log.is_dir() and (name != "metadata" or any(log.glob("*.metadata.json"))):
            raise UnreadableFile(
                f"cannot read {folder}: it is a table of {whose}, whose files hold older versions of rows too.",
                "Export its present state to Parquet, and give that.",
            )


def refuse_other_separators(file: Path, heading: Sequence[str], delimiter: str) -> None:
    """Refuse a table whose heading is one name with another separator in it: it was read as one column."""
    if len(heading) != 1:
        return
    for separator, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars"), (",", "commas")):
        if separator in heading[0] and separator != delimiter:
            separators = "commas" if delimiter == "," else "tabs"
            name, stem = file.name, file.name.split(".")[0]
            python = f"pandas.read_csv({name!r}, sep={separator!r}).to_parquet('{stem}.parquet')"
            raise UnreadableFile(
                f"{name} separates its fields by {called}, and {separators} are read.",
                f"Save it with {separators}, or write it as Parquet; in Python: {python}"
                + (" (decimal=',' if numbers have commas)" * (separator == ";")),
            )


def _refused(path: Path, what: str, advice: str) -> UnreadableFile:
    stem = path.name.split(".")[0]
    return UnreadableFile(f"cannot read {path.name}: it is {what}.", f"{advice.format(name=path.name, stem=stem)}.")
