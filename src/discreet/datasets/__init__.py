"""Declarations of data sets, made before a row is read: names, public values, and the ledger that pays."""
