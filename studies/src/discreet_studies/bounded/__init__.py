"""[S]: bounded, unbiased noise on counts, its delta and its variance."""
