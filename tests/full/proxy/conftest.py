"""The service behind the proxy, and a browser before it."""

from __future__ import annotations

from support.chromium import chromium
from support.service_fixtures import running, service, token

__all__ = ["chromium", "running", "service", "token"]
