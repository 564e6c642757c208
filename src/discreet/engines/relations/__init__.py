"""FROM items of several tables, in SQL that all engines understand."""
