"""[C] sections V-B and V-C: people in small groups, counted with noise."""
