"""Tables and views in Spark's catalogue. No row is read; refusals depend on the schema alone."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import InvalidInput
from ...sources.parsing import duckdb_sql, parse_statement
from ...strict_json import read_json
from .dialect import SPARK
from .files import SparkFiles
from .session import FORMATS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What the catalogue has about a table, as JSON.
Description: TypeAlias = dict[str, Any]

#: What a table of CSV may say about its format -> what it is called here.
_CSV_OPTIONS = {"sep": "sep", "delimiter": "sep"}
#: What it may say besides, and with which value.
_USUAL = {"header": "true", "serialization.format": "1", "path": None, "mergeschema": None}


def table_names(session: SparkSession) -> list[str]:
    """Return the tables and views of all databases, as database.table."""
    names = []
    for database in session.catalog.listDatabases():
        rows = session.sql(f"SHOW TABLES IN {SPARK.quoted(database.name)}").collect()
        names += [f"{row['namespace']}.{row['tableName']}" for row in rows if not row["isTemporary"]]
    return sorted(names)


def refuse_temporary(given: SparkSession, name: str) -> None:
    """Refuse a temporary view of a session: its definition is not in the catalogue."""
    views = {view.name.casefold() for view in given.catalog.listTables() if view.isTemporary}
    if name.casefold() in views or name.casefold().startswith("global_temp."):
        raise InvalidInput(
            f"{name} is a temporary view, whose definition is not in the catalogue.",
            "Name a table with its database.",
        )


def description(session: SparkSession, name: str) -> Description:
    """Return what the catalogue has about a table."""
    (row,) = session.sql(f"DESCRIBE TABLE EXTENDED {sql_name(name)} AS JSON").collect()
    details: Description = read_json(row[0], name)
    return details


def sql_name(name: str) -> str:
    """Return the name of a table behind that of its database."""
    database, _, table = name.partition(".")
    return f"{SPARK.quoted(database)}.{SPARK.quoted(table)}"


def files_of(name: str, details: Description) -> SparkFiles:
    """Return the files that a table is stored in.

    Raises
    ------
    InvalidInput
        If Spark does not read them itself, or in a way of the table's own.
    """
    provider, kind = str(details.get("provider", "none")).lower(), str(details.get("type", "")).upper()
    if provider not in FORMATS or kind not in ("MANAGED", "EXTERNAL") or "location" not in details:
        raise InvalidInput(
            f"{name} is stored by {provider}, which may skip rows by statistics of others.",
            "Copy it to a table of Parquet, ORC or CSV files.",
        )
    options = {}
    for option, value in dict(details.get("storage_properties", {})).items():
        if provider == "csv" and option.lower() in _CSV_OPTIONS:
            options[_CSV_OPTIONS[option.lower()]] = str(value)
        elif option.lower() not in _USUAL or _USUAL[option.lower()] not in (None, str(value).lower()):
            raise InvalidInput(
                f"{name} is read with the option {option}, which may change what is counted.",
                "Copy it to a table without it.",
            )
    if provider == "csv" and "header" not in {option.lower() for option in details.get("storage_properties", {})}:
        raise InvalidInput(f"{name} has no header line.", "Make the table of CSV files with OPTIONS (header 'true').")
    return SparkFiles(str(details["location"]), provider, options)


def view_sql(name: str, details: Description) -> str | None:
    """Return a view's definition in DuckDB's SQL, to be judged; None for a table.

    Names without a database are those of the database that the view was made in.
    """
    if str(details.get("type", "")).upper() != "VIEW":
        return None
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    sql: str | None = None
    with suppress(SqlglotError, RecursionError):
        tree = parse_statement(str(details["view_text"]), "spark")
        database = str(details["view_catalog_and_namespace"]).rpartition(".")[2]
        for table in tree.find_all(exp.Table):
            if not table.db:
                table.set("db", exp.to_identifier(database))
        sql = duckdb_sql(tree, lossless=True)
    if sql is None:
        raise InvalidInput(f"the view {name} cannot be read.", "Ask the question of its table.")
    return sql
