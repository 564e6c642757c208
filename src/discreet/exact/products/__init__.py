"""Products: several kernels at once, each with its own truth and its own report."""
