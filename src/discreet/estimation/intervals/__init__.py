"""Confidence intervals of what is asked of an estimate."""
