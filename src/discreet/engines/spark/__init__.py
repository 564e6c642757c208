"""Spark: its executors count files that they read themselves, and only cells come back."""
