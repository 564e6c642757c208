"""Bounded noise and p-tables with the least delta."""
