"""A bundle as the release it is: read back, and re-checked on the way."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from ...errors import Altered, call
from ...ledger.ledger import Ledger
from .released import Release
from .verify import verify_bundle


def open_bundle(folder: str | Path, ledger: Ledger | str | Path | None = None) -> Release:
    """The release that a bundle holds. Everything in it is re-checked first, as ``dc.verify_bundle`` does.

    Parameters
    ----------
    folder
        What ``release.save`` wrote.
    ledger
        The ledger that paid for it: with it the counts are checked to be those that were drawn.

    Raises
    ------
    Altered
        When a check fails: the first one that does, by name.
    UnreadableFile
        When there is no bundle there, or no ledger.

    Examples
    --------
    >>> import discreet as dc, os, pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> table, book = os.path.join(folder, "visits.csv"), os.path.join(folder, "visits.ledger")
    >>> _ = pathlib.Path(table).write_text("person,site\\nann,1\\nbob,2\\n")
    >>> _ = dc.Ledger.create(book, dataset="visits", unit="person", epsilon=2)
    >>> release = dc.release_counts(
    ...     "SELECT site, COUNT(*) FROM visits GROUP BY site", data=table, unit="person",
    ...     domain={"site": range(1, 4)}, max_groups=1, epsilon=1, ledger=book, out=os.path.join(folder, "by_site"),
    ... )
    >>> again = dc.open_bundle(os.path.join(folder, "by_site"))
    >>> again.rows() == release.rows(), again.fresh
    (True, False)
    """
    found = verify_bundle(folder, ledger)
    failed = next((check for check in found.checks if check.holds is False), None)
    if failed is not None or found.release is None:
        said = "" if failed is None else f" ({failed.name}): {failed.sentence}"
        every = call(f"dc.verify({str(folder)!r})", f"discreet verify {shlex.quote(str(folder))}")
        raise Altered(f"the bundle {folder} does not hold{said}", f"See every check with: {every}")
    return replace(found.release, fresh=False, paid=False)
