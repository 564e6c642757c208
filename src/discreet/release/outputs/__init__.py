"""Exports of releases for other programs: Excel, Parquet, CSVW metadata, the registry of deployments."""
