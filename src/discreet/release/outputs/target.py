"""Where an exported file may be written."""

from __future__ import annotations

from pathlib import Path

from ...errors import InvalidInput
from ..bundle.contents import CHECKSUM_FILE


def refuse_folder_of(file: Path) -> None:
    """Refuse a file in a folder that does not exist, or that is a bundle."""
    if not file.parent.is_dir():
        raise InvalidInput(f"there is no folder {file.parent} to write {file.name} to.", "Make it first.")
    if (file.parent / CHECKSUM_FILE).exists():
        raise InvalidInput(
            f"{file.parent} is a bundle, which no longer holds if a file is added.", "Choose another folder."
        )
