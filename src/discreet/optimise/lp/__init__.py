"""Linear programs for tables of probabilities: set up, solved in floats, proved in exact numbers."""
