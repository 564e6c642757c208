"""Levels that add up: totals beside their groups, measured apart and combined by least squares."""
