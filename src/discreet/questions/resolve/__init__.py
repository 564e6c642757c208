"""Questions against what a data set has: joins bound to what is declared, and views replaced by their tables."""
