"""Columns on a Spark cluster, whose executors draw and count the reports."""
