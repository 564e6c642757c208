"""The kinds of tables: one class for each, which has everything particular to it."""
