"""Programs of the system that some tests need, beside Python."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

#: Where Debian keeps PostgreSQL's own programs, which know ICU and citext.
DEBIAN_POSTGRES = Path("/usr/lib/postgresql")

#: Where Debian keeps the package by which R runs Python.
DEBIAN_RETICULATE = Path("/usr/lib/R/site-library/reticulate")


class _Need(NamedTuple):
    """A program of the system.

    Attributes
    ----------
    find
        Returns where it is, or None.
    packages
        Debian's packages that bring it.
    """

    find: Callable[[], Path | None]
    packages: str


def _program(*names: str) -> Path | None:
    """Find the first of these programs, also where only the system's administrator looks."""
    folders = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    paths = (shutil.which(name, path=folders) for name in names)
    return next((Path(path) for path in paths if path is not None), None)


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    return Path(home) if home else _program("java")


def _debian_postgres() -> Path | None:
    """Find the newest version that Debian's packages installed."""
    versions = sorted(DEBIAN_POSTGRES.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent.parent if versions else None


def _r() -> Path | None:
    """Find R's program for scripts, if Debian's reticulate is there too."""
    return _program("Rscript") if DEBIAN_RETICULATE.is_dir() else None


_NEEDS = {
    "java": _Need(_java, "openjdk-17-jre-headless"),
    "chromium": _Need(lambda: _program("chromium", "chromium-browser", "google-chrome"), "chromium"),
    "nginx": _Need(lambda: _program("nginx"), "nginx-light"),
    "openssl": _Need(lambda: _program("openssl"), "openssl"),
    "R": _Need(_r, "r-base-core r-cran-reticulate"),
    "debian postgres": _Need(_debian_postgres, "postgresql"),
}


def need(name: str) -> Path:
    """Return where a program is; without it, skip the test, or fail it where a skip would hide that it is missing."""
    path = _NEEDS[name].find()
    if path is not None:
        return path
    words = f"{name} is not installed: apt-get install {_NEEDS[name].packages}"
    if os.environ.get("DISCREET_NO_SKIPS") or os.environ.get("CI"):
        pytest.fail(words)
    pytest.skip(words)
