"""The result of an audit: named checks, and a report of all."""

from __future__ import annotations

from dataclasses import dataclass

from ...report import Check, Finding, Json, Report, Result, Section, TextTable, stamped
from ...wording import plural
from .released import Release


@dataclass(frozen=True)
class BundleReport(Check, Result):
    """The result of :func:`verify_bundle`.

    Attributes
    ----------
    folder
        The folder of the bundle.
    checks
        All checks, in the order in which they were made.
    release
        The release, rebuilt from the bundle; None if that was impossible.

    Examples
    --------
    >>> print(BundleReport("by_site", (Finding("cost", False, "it is twice what is stated."),), None))
    The bundle by_site DOES NOT HOLD.
    check  result  finding
    cost   FAILS   it is twice what is stated.
    """

    folder: str
    checks: tuple[Finding, ...]
    release: Release | None

    @property
    def holds(self) -> bool:
        """True if no check failed. Some may be open: see :attr:`undecided`."""
        return not any(check.holds is False for check in self.checks)

    @property
    def undecided(self) -> tuple[Finding, ...]:
        """The checks that could not be decided, such as that of the counts without a ledger."""
        return tuple(check for check in self.checks if check.holds is None)

    def __getitem__(self, name: str) -> Finding:
        return next(check for check in self.checks if check.name == name)

    def to_json(self) -> dict[str, Json]:
        """Return the result as JSON values."""
        checks = [{"name": one.name, "holds": one.holds, "sentence": one.sentence} for one in self.checks]
        return stamped("bundle-report", 1, {"bundle": self.folder, "holds": self.holds, "checks": checks})

    def report(self) -> Report:
        """Return a report with the result and every check."""
        rows = tuple((check.name, check.mark, check.sentence) for check in self.checks)
        count = plural(len(self.undecided), "check is", "checks are")
        left_open = f", and {count} open" if self.holds and self.undecided else ""
        return Report(
            f"The bundle {self.folder} {'holds' if self.holds else 'DOES NOT HOLD'}{left_open}.",
            kind="A bundle, checked again",
            sections=(Section(parts=(TextTable(("check", "result", "finding"), rows, strong=(1,)),)),),
        )

    def __str__(self) -> str:
        return self.describe()
