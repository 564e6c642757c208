"""A plan for one question, with what a test changes of it."""

from __future__ import annotations

from typing import Any

from discreet.release.plan.planning import plan_release

BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"


def proposed(**options: Any) -> Any:
    request: dict[str, Any] = {"data": "visits", "unit": "person", "max_groups": 1, "domain": {"site": range(3)}}
    return plan_release(BY_SITE, **(request | {"epsilon": 1} | options))
