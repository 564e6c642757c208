"""Columns on a Spark cluster: reports are drawn and counted on its executors."""
