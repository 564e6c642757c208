"""P-tables: the tables of noise that statistics offices add to counts, as exact mechanisms the judge can look at."""
