"""Open a bundle as a release, after an audit."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from ...errors import Altered, call
from ...ledger.ledger import Ledger
from .released import Release
from .verify import verify_bundle


def open_bundle(folder: str | Path, ledger: Ledger | str | Path | None = None) -> Release:
    """Audit a bundle as ``dc.verify_bundle`` does, and return its release.

    Parameters
    ----------
    folder
        The folder that ``release.save`` wrote.
    ledger
        The ledger that paid for it, or its file; with it, the audit compares the counts with the recorded ones.

    Raises
    ------
    Altered
        When a check fails; the message names the first one.
    UnreadableFile
        When the folder is not a bundle, or the ledger does not exist.

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
    audit = verify_bundle(folder, ledger)
    failure = next((check for check in audit.checks if check.holds is False), None)
    if failure is not None or audit.release is None:
        reason = "" if failure is None else f" ({failure.name}): {failure.sentence}"
        every = call(f"dc.verify({str(folder)!r})", f"discreet verify {shlex.quote(str(folder))}")
        raise Altered(f"the bundle {folder} does not hold{reason}", f"See every check with: {every}")
    return replace(audit.release, fresh=False, paid=False)
