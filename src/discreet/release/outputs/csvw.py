"""CSVW metadata of the published tables (W3C, Metadata Vocabulary for Tabular Data, 2015).

The metadata gives the type and meaning of every column, the text for a missing value, and the columns that identify a
count. The tables themselves are the CSV files of the bundle, in the same folder and named after the metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from ...report import Json
from ...wording import percent
from ..bundle.contents import COLUMN_MEANING
from ..bundle.released import Release
from ..tables.columns import STATUS_MEANING, error_meanings
from ..tables.csv_text import table_files
from ..tables.released import ReleasedTable
from ..tables.typed_columns import Column

_DATATYPES: dict[str, Json] = {"integer": "integer", "number": "number", "text": "string"}


#: The ending of a metadata file's name.
ENDING = "-metadata.json"


def data_files(metadata: str, tables: int) -> list[str]:
    """Return the names of the CSV files that a metadata file describes, derived from its own name.

    >>> data_files("by_site.csv-metadata.json", 1), data_files("year-metadata.json", 2)
    (['by_site.csv'], ['year_1.csv', 'year_2.csv'])
    >>> data_files("csv-metadata.json", 1)
    ['counts.csv']
    """
    stem = metadata[: -len(ENDING)]
    if stem.lower().endswith(".csv"):
        stem = stem[: -len(".csv")]
    base = "counts" if stem.lower() in ("", "csv") else stem  # csv-metadata.json is CSVW's name for a whole folder
    return [base + name.removeprefix("counts") for name in table_files(tables)]


#: Statements of the curator that Dublin Core has under the same name.
_DUBLIN_CORE = ("publisher", "source")


def csvw_metadata(release: Release, files: Sequence[str] | None = None) -> dict[str, Json]:
    """Return the metadata of all tables of a release; ``files`` are the CSV files, by default named as in a bundle."""
    files = table_files(len(release.tables)) if files is None else files
    return {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "@type": "TableGroup",
        "dc:title": release.title,
        "dc:description": " ".join(release.guarantee),
        **{f"dc:{name}": text for name, text in release.plan.publication.to_json().items() if name in _DUBLIN_CORE},
        "dc:date": str(release.ledger["time"]),
        "dialect": {"@type": "Dialect", "encoding": "utf-8", "header": True, "delimiter": ",", "doubleQuote": True},
        "tables": [
            _table(table, file, release.plan.protection.unit) for table, file in zip(release.tables, files, strict=True)
        ],
    }


def _table(table: ReleasedTable, file: str, unit: str) -> dict[str, Json]:
    columns = table.typed_columns()
    meaning = {"measure": "which count it is", **table.extra_meanings, **COLUMN_MEANING}
    meaning |= error_meanings(table.columns, unit)
    meaning["low"] = meaning["low"].replace("the stated level", f"the stated level, {percent(table.level, 6)}")
    names = {column.name: variable(column.name) for column in columns}
    keys = [*(["edition"] if table.edition else []), *table.keys]
    schema: dict[str, Json] = {
        "@type": "Schema",
        "columns": [_column(column, names[column.name], meaning, column.name in keys) for column in columns],
    }
    if keys:
        schema["primaryKey"] = [names[key] for key in keys]
    return {
        "@type": "Table",
        "url": file,
        "dc:title": table.title,
        "dc:description": f"The answer to: {table.question.text}. The columns low and high are the ends of a "
        f"{percent(table.level, 6)} interval for each count.",
        "tableSchema": schema,
    }


def _column(column: Column, name: str, meaning: Mapping[str, str], key: bool) -> dict[str, Json]:
    description = meaning.get(column.name, "a value of the group; one apostrophe before a text is a mark: take it away")
    content: dict[str, Json] = {"@type": "Column", "name": name, "titles": column.name, "dc:description": description}
    if column.name == "status":
        flags = "; ".join(f"{flag}: {what}" for flag, what in STATUS_MEANING.items())
        return content | {
            "datatype": {"base": "string", "format": "|".join(STATUS_MEANING)},
            "required": True,
            "dc:description": f"the flag of the count (SDMX, CL_OBS_STATUS). {flags}",
        }
    content["datatype"] = _DATATYPES[column.type]
    content["null"] = "NULL" if key else ""
    return content


def variable(heading: str) -> str:
    """Return a column's name in CSVW: a variable name of a URI template.

    >>> variable("exact_probability"), variable("marital status"), variable("_x-y")
    ('exact_probability', 'marital%20status', '%5Fx%2Dy')
    """
    name = quote(heading, safe="").replace("-", "%2D").replace("~", "%7E")
    return f"%5F{name[1:]}" if name.startswith("_") else name
