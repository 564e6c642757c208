"""Connections to databases: opened with pinned settings, withheld messages, and steps that are done again."""
