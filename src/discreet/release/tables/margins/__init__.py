"""All tables at once: margins of many columns from one budget, which agree with each other."""
