"""Where people's data is: tables opened so that nothing of them gets out on the way."""
