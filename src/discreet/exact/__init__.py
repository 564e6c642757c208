"""Exact numbers, exact randomness: everything that is sampled is an integer table or an exact law defined here."""
