"""``python -m discreet``: the command line."""

from .cli.main import main

main()
