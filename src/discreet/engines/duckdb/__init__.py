"""DuckDB in this process: its dialect, its queries, and files that it counts."""
