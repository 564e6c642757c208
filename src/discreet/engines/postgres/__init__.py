"""PostgreSQL: the server counts, in one read-only state of the data, and only cells come back."""
