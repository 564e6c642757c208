"""Connections to databases, with pinned settings, withheld messages and repeated steps."""
