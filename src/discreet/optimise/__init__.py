"""Choosing mechanisms: calibrating a family to a target, using reports best, and what keeps or limits structure."""
