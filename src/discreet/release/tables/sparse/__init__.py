"""Tables of very many declared groups, of which only large noisy counts are published."""
