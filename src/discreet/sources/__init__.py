"""Tables of people's data, opened so that no value leaks on the way."""
