"""Repair of a store that refuses keys because a clock was wrong."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NamedTuple

from ...addresses import read_address
from ...errors import InvalidInput, UnreadableFile
from ..keys import KEY_DAYS, MAX_DAYS_AHEAD, read_day
from .open import report_store


class Repair(NamedTuple):
    """The first day whose keys a store accepts, before and after a repair."""

    before: date
    after: date

    def describe(self) -> str:
        """Return the repair in words."""
        if self.after >= self.before:
            return "Nothing to repair: this store refuses no key because of a wrong clock."
        return f"Keys are accepted from {self.after} on; before, they were accepted from {self.before} on."


def repair(store: str | Path, counted_until: str | date | None = None) -> Repair:
    """Accept keys again that are refused because an earlier version of the service once ran with its clock ahead.

    That service forgot all traces of batches up to a future day, and has refused keys up to that day since. Nobody
    knows which of them it had counted. But it counted no key whose day is more than one day after its last day of
    counting: later keys are safe, and are accepted again. Nothing is counted twice.

    Parameters
    ----------
    store
        The address of the store. A SQLite store must not be in use meanwhile.
    counted_until
        The last day on which reports were counted ("2026-11-16"); today if unknown. Keys of that day and of
        the next one stay refused.

    Examples
    --------
    >>> repair("reports.db", "2026-11-16").describe()  # doctest: +SKIP
    'Keys are accepted from 2026-11-18 on; before, they were accepted from 2027-11-03 on.'
    """
    day = None
    if counted_until is not None:
        day = counted_until.toordinal() if isinstance(counted_until, date) else read_day(counted_until)
        if day is None:
            raise InvalidInput.must_be("counted_until", "a day such as 2026-11-16", counted_until)
    address = read_address(store, "reports")
    if address.in_files and not address.path.exists():
        raise UnreadableFile(f"there is no store {address.path}.")
    opened_store = report_store(address)
    opened_store.open()
    try:
        days = opened_store.key_days()
        if day is not None and day > days.clock:
            raise InvalidInput.must_be("counted_until", f"today ({_date(days.clock)}) or before", counted_until)
        if not days.is_spoilt:  # it refuses only keys whose traces were forgotten in time
            return Repair(_date(days.horizon), _date(days.horizon))
        after = max(days.clock - KEY_DAYS - 1, (days.clock if day is None else day) + MAX_DAYS_AHEAD + 1)
        opened_store.lower_horizon(after)
        return Repair(_date(days.horizon), _date(after))
    finally:
        opened_store.close()


def _date(day: int) -> date:
    return date.fromordinal(max(day, 1))
