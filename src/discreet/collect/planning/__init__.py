"""How many people a survey takes, or which epsilon: from a wish to a plan."""
