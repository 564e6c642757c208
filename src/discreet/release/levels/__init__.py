"""Levels that add up: groups and totals are measured independently and combined by least squares."""
