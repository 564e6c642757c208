"""Survey plans: the number of people, or the smallest epsilon, for a target error."""
