"""Logs: one JSON object a line, about the service and never about a request.

There is no access log. A line says what happened to the service: it started, a store could not be written, it failed.
No line holds an address, a token, a key or a report.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

LOGGER = logging.getLogger("discreet.service")


class JsonLines(logging.Formatter):
    """A record as one JSON object: time, level, event, and the figures that were logged with it."""

    def format(self, record: logging.LogRecord) -> str:
        content: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        figures = getattr(record, "figures", None)
        if isinstance(figures, dict):
            content |= figures
        if record.exc_info and record.exc_info[0] is not None:
            # where it failed, and what kind of failure it was: its words could quote a request
            content |= {"error": record.exc_info[0].__name__, "where": _where(record)}
        return json.dumps(content)


def _where(record: logging.LogRecord) -> str:
    trace = record.exc_info[2] if record.exc_info else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def log(event: str, **figures: object) -> None:
    """Say that something happened to the service."""
    LOGGER.info(event, extra={"figures": figures})


def start_logging() -> None:
    """Write the logs of the service and of the server below it to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("discreet.service", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(logging.INFO)
        logger.propagate = name == "uvicorn.error"
    logging.getLogger("uvicorn.access").disabled = True
