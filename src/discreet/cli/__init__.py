"""The command line. Each verb calls the same functions a Python user calls; nothing is computed here.

Exit codes: 0 when what was asked holds, 1 when it does not or the budget does not pay, 2 when the
input cannot be used, 70 when the program itself failed.
"""

from .main import app, main

__all__ = ["app", "main"]
