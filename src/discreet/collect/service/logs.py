"""Logs: one JSON object a line, about the service and never about a request.

Requests are not logged. A line states an event of the service: it started, a store could not be written, it failed.
No line holds an address, a token, a key or a report.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

LOGGER = logging.getLogger("discreet.service")

#: Maximum number of lines about one event per minute, seconds in a minute, and maximum number of remembered events.
LINES_A_MINUTE, MINUTE, MAX_EVENTS = 10, 60.0, 100


class JsonLines(logging.Formatter):
    """A formatter of records as one JSON object: time, level, event, and its figures."""

    def format(self, record: logging.LogRecord) -> str:
        content: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        if record.name == "asyncio":  # its message could contain an address
            content["event"] = "a connection failed"
        figures = getattr(record, "figures", None)
        if isinstance(figures, dict):
            content |= figures
        if record.exc_info and record.exc_info[0] is not None:
            # the place and class of the failure only: its message could quote a request
            content |= {"error": record.exc_info[0].__name__, "where": _where(record)}
        return json.dumps(content)


class Repetitions(logging.Filter):
    """A filter that lets each event be logged a few times a minute, so that bad requests cannot fill a disk.

    The next line about the event states how many were dropped.

    Parameters
    ----------
    clock
        A clock in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._lock = clock, threading.Lock()
        self._lines: dict[str, tuple[float, int]] = {}  # event -> when its minute began, and how many came in it

    def filter(self, record: logging.LogRecord) -> bool:
        event = record.name if record.name == "asyncio" else f"{record.name} {record.msg}"
        with self._lock:
            began, lines = self._lines.get(event, (-math.inf, 0))
            if self._clock() - began < MINUTE and lines >= LINES_A_MINUTE:
                self._lines[event] = (began, lines + 1)
                return False
            if self._clock() - began >= MINUTE:
                if lines > LINES_A_MINUTE:
                    figures = getattr(record, "figures", None) or {}
                    record.figures = {**figures, "left_out": lines - LINES_A_MINUTE}
                began, lines = self._clock(), 0
                if len(self._lines) >= MAX_EVENTS:
                    self._lines.clear()
            self._lines[event] = (began, lines + 1)
            return True


def _where(record: logging.LogRecord) -> str:
    trace = record.exc_info[2] if record.exc_info else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def log(event: str, **figures: object) -> None:
    """Log an event of the service."""
    LOGGER.info(event, extra={"figures": figures})


def start_logging() -> None:
    """Send the logs of the service and of its server to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(Repetitions())
    for name in ("discreet.service", "asyncio", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(logging.INFO)
        logger.propagate = name == "uvicorn.error"
    logging.getLogger("uvicorn.access").disabled = True
