"""[A]: places, reported with noise that depends on distance, and their distribution."""
