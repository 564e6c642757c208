"""The browser that these tests share: a process has one."""

from __future__ import annotations

from support.chromium import chromium

__all__ = ["chromium"]
