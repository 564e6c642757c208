"""The pages, one module each: they call what a Python user calls."""
