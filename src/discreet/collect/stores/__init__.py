"""Stores of reports: the counts of each report, and traces of the batches that were counted."""
