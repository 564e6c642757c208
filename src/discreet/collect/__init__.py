"""Collecting locally private reports: what each person's own device does."""
