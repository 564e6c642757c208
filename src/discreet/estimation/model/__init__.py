"""The likelihood of reports, as numbers."""
