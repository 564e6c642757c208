"""The privacy budget, and the hash chain of what was spent."""
