"""Metrics for Prometheus, of one process and without anything about single batches, addresses or tokens."""

from __future__ import annotations

import os
from collections import Counter

from ..stores.base import Outcome

_HELP = {
    "discreet_batches_total": "Batches of reports, by what became of them.",
    "discreet_reports_stored_total": "Reports that were counted.",
    "discreet_requests_total": "Answers, by status.",
    "discreet_groups_total": "Groups of batches that were written together.",
    "discreet_write_seconds_total": "Time that writing groups took.",
    "discreet_write_failures_total": "Groups that could not be written; their batches were not acknowledged.",
    "discreet_estimates_total": "Estimates that were worked out.",
}


class Metrics:
    """Counters of one process.

    >>> metrics = Metrics()
    >>> metrics.batch(Outcome.STORED, 100)
    >>> "discreet_reports_stored_total" in metrics.text(waiting=0)
    True
    """

    def __init__(self) -> None:
        self._counters: Counter[tuple[str, str]] = Counter()
        self._seconds = 0.0

    def batch(self, outcome: Outcome, reports: int) -> None:
        self._counters["discreet_batches_total", f'outcome="{outcome.value}"'] += 1
        if outcome is Outcome.STORED:
            self._counters["discreet_reports_stored_total", ""] += reports

    def answered(self, status: int) -> None:
        self._counters["discreet_requests_total", f'status="{status}"'] += 1

    def group(self, seconds: float, is_stored: bool) -> None:
        self._counters["discreet_groups_total" if is_stored else "discreet_write_failures_total", ""] += 1
        self._seconds += seconds

    def estimated(self) -> None:
        self._counters["discreet_estimates_total", ""] += 1

    def text(self, waiting: int) -> str:
        """Return all of them in Prometheus' text format; ``waiting`` batches wait to be written."""
        worker = f'worker="{os.getpid()}"'
        values: dict[str, list[str]] = {name: [] for name in _HELP}
        for (name, label), value in sorted(self._counters.items()):
            values[name].append(f"{name}{{{','.join(filter(None, (worker, label)))}}} {value}")
        values["discreet_write_seconds_total"] = [f"discreet_write_seconds_total{{{worker}}} {self._seconds:.6f}"]
        lines = []
        for name, samples in values.items():
            lines += [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} counter", *samples]
        name = "discreet_batches_waiting"
        lines += [
            f"# HELP {name} Batches that wait to be written.",
            f"# TYPE {name} gauge",
            f"{name}{{{worker}}} {waiting}",
        ]
        return "\n".join(lines) + "\n"
