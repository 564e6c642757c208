"""Re-checking a bundle: its files, its tables, its words, and its ledger."""
