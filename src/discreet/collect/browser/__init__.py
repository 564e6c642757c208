"""Reports from a browser: the module that draws them, the page on which people answer, and test vectors."""
