"""New results: what goes beyond the four papers, each with a statement, a proof on its page, and a figure."""
