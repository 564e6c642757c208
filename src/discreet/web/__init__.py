"""The pages of ``discreet serve``: routes and templates; every page calls what a Python user calls."""
