"""The kinds of tables: one class for each, which knows all that is particular to it."""
