"""Tables in memory (pandas, polars, pyarrow), copied into a DuckDB of our own and counted there."""
