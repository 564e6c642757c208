"""The service behind the proxy."""

from __future__ import annotations

from support.service_fixtures import running, service, token

__all__ = ["running", "service", "token"]
