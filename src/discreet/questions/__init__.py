"""Questions about a table: accepted conditions, the question, its groups and their declared values."""
