"""Largest likelihoods, by the structure of the mechanism."""
