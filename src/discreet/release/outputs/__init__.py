"""Releases for other programs: spreadsheets, metadata of the web, frames on disk, the registry of deployments."""
