"""Mechanisms that are optimal for a loss and have the wanted properties."""
