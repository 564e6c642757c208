"""The service that these tests share."""

from __future__ import annotations

from support.service_fixtures import running, service, token

__all__ = ["running", "service", "token"]
