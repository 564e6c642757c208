"""Where tables are counted."""
