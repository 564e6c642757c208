"""Stores of ledgers: the interface, and one module for each kind of database."""
