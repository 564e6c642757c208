"""Objects that look like tables but cannot be counted (queries, streams, connections), and what to give instead."""

from __future__ import annotations

from ...errors import InWords, WrongType, arg

#: Why a query is refused.
_QUERY = "It can hold a LIMIT or a window, by which one row evicts another."

#: Package -> class -> why it is refused, and what to give instead. A class is looked up by its own name and those of
#: its base classes; "" stands for all other classes of the package.
_INSTEAD: dict[str, dict[str, str]] = {
    "polars": {
        "LazyFrame": f"{_QUERY} Give all rows of the table itself, as a DataFrame: data=query.collect().",
        "Series": "Give a table: data=series.to_frame().",
    },
    "pandas": {"Series": "Give a table: data=series.to_frame()."},
    "pyarrow": {
        "RecordBatch": "Give a table: data=pyarrow.Table.from_batches([batch]).",
        "RecordBatchReader": "It can be read only once. Give a table: data=reader.read_all().",
        "Scanner": f"{_QUERY} Give the files themselves, data='people/', or a table of all their rows.",
        "Dataset": "Give the files themselves, data='people/', or a table: data=dataset.to_table().",
    },
    "duckdb": {
        "DuckDBPyRelation": f"{_QUERY} Give the database file, data='study.duckdb', or all rows as a table.",
        "": "Give the database file, data='study.duckdb', and name the table in the question.",
    },
    "pyspark": {
        "DataFrame": f"{_QUERY} Save the table, df.write.parquet('people'), and give data='people'.",
    },
    "sqlalchemy": {"": "Give the address, without a password: data='postgresql://user@host/study'."},
    "psycopg": {"": "Give the address, without a password: data='postgresql://user@host/study'."},
    "sqlite3": {"": "Save the table as .csv or .parquet, and give that file."},
    "ibis": {"": f"{_QUERY} Give the table that it reads: its file, or the address of its database."},
}
_INSTEAD["_duckdb"] = _INSTEAD["duckdb"]


def not_a_table(
    data: object, argument: str = "data", allowed: str = "a file, an address or a table of pandas, polars or pyarrow"
) -> WrongType:
    """Return the error for an object that is neither an address nor a table in memory.

    >>> print(not_a_table([1, 2]))
    data must be a file, an address or a table of pandas, polars or pyarrow; got a list. Save it as .csv or .parquet...
    """
    advice = f"Save it as .csv or .parquet, and give {arg('data', 'people.csv')}."
    for kind in type(data).__mro__:
        known = _INSTEAD.get(kind.__module__.partition(".")[0], {})
        if kind.__name__ in known or "" in known:
            advice = known.get(kind.__name__, known.get("", advice))
            break
    return WrongType.must_be(argument, allowed, InWords(f"a {type(data).__name__}"), advice)
