"""The link that lets a browser in: printed on a terminal, or written to a file that only its owner can read.

Without a terminal, printed lines end in a log, which other people read and keep. An unused link must not be there, so
it is written to a file, and the log names the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex

from ...errors import InvalidInput, arg
from .settings import PageSettings


class Announcement:
    """A callable that shows each new one-time token as a link.

    Parameters
    ----------
    settings
        The address of the pages, and the file for the link if there is one.
    """

    def __init__(self, settings: PageSettings) -> None:
        self._address = settings.address
        self._file = None if settings.link_file is None else Path(settings.link_file)
        if self._file is not None:
            print(f"pages     {self._address} (the link that lets you in is in {self._file})", flush=True)

    def __call__(self, token: str) -> None:
        link = f"{self._address}/enter#token={token}"
        if self._file is None:
            print(f"pages     {link}", flush=True)
        else:
            _write_private(self._file, f"{link}\n")


def _write_private(file: Path, text: str) -> None:
    """Replace a file by a text that only its owner can read; the change is atomic and follows no symbolic link."""
    partial = file.with_name(f".{file.name}.{token_hex(6)}.partial")
    try:
        with open(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as stream:
            stream.write(text)
        partial.replace(file)
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise InvalidInput(
            f"cannot write the link to {file}: {problem.strerror or problem}.",
            f"Name another file: {arg('link_file', 'pages.link')}", argument="link_file",
        ) from None  # fmt: skip
