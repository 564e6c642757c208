"""Collecting locally private reports: the client on each person's own device, and the service that counts."""

from __future__ import annotations

from importlib import import_module

#: Public names -> the modules they are in, which are loaded when first asked for.
_HOME = {
    "Client": ".reporting.client",
    "Collector": ".collector",
    "Offer": ".reporting.client",
    "repair": ".stores.repair",
}

__all__ = ["Client", "Collector", "Offer", "repair"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)
