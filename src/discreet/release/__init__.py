"""Counts from real tables: the question, the noise, the ledger, the bundle. True counts never leave this package."""
