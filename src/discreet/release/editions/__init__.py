"""Several editions of the same counts: what changed, and how sure that is."""
