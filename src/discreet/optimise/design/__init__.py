"""Mechanisms that are optimal for a loss under required properties."""
