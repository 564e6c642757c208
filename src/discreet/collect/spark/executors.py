"""Requirements on the executors, checked by a small job before anything is read or written."""

from __future__ import annotations

import platform
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...errors import Unsupported
from ...wording import listed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Packages that must be installed, in any version; our own must have the same version.
PACKAGES = ("pyarrow", "pandas", "duckdb", "numpy")

#: Number of tasks per core, so that every executor gets one.
_TASKS = 2


def check_executors(session: SparkSession) -> None:
    """Refuse a cluster whose executors cannot draw reports.

    Raises
    ------
    Unsupported
        If one of them has another version of Python or of this package, or lacks a package.
    """
    context = session.sparkContext
    tasks = max(1, context.defaultParallelism) * _TASKS
    answers: list[dict[str, Any]] | None = None
    with suppress(Exception):  # its message is long, and the sentence below states what it means
        answers = context.parallelize(range(tasks), tasks).map(_question(PACKAGES)).collect()
    if answers is None:
        raise _refusal("a small job that asks them for it failed")
    for answer in answers:
        ours = ".".join(platform.python_version_tuple()[:2])
        if answer["python"] != ours:
            raise _refusal(f"one has Python {answer['python']}")
        if answer["missing"]:
            raise _refusal(f"one lacks {listed(answer['missing'])}")
        if answer["discreet"] != __version__:
            raise _refusal(f"one has discreet {answer['discreet']}")


def _refusal(problem: str) -> Unsupported:
    python = ".".join(platform.python_version_tuple()[:2])
    return Unsupported(
        f"the executors need Python {python} with discreet {__version__}, {listed(list(PACKAGES))}; {problem}.",
        f"Install there: pip install 'discreet[spark]=={__version__}', and name that Python in the variable "
        "PYSPARK_PYTHON.",
    )


def _question(packages: tuple[str, ...]) -> Any:
    """Return a function that is shipped as it is written here: where this package is missing it runs too."""

    def answer(_: int) -> dict[str, Any]:
        import importlib
        import platform

        missing = []
        for name in (*packages, "discreet"):
            try:
                importlib.import_module(name)
            except ImportError:
                missing.append(name)
        version = None
        if "discreet" not in missing:
            version = importlib.import_module("discreet").__version__
        return {
            "python": ".".join(platform.python_version_tuple()[:2]), "missing": missing, "discreet": version,
        }  # fmt: skip

    return answer
