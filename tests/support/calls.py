"""Counting calls of functions, wherever modules have taken them from."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

import pytest


def count_calls(
    monkeypatch: pytest.MonkeyPatch, *functions: Callable[..., object],
    counted: Callable[..., bool] = lambda *_, **__: True,
) -> Counter[str]:  # fmt: skip
    """Return a counter of calls by name; ``counted`` says of the arguments whether a call counts."""
    calls: Counter[str] = Counter()
    for function in functions:
        counting = _counting(function, calls, counted)
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == "discreet" and vars(module).get(function.__name__) is function:
                monkeypatch.setattr(module, function.__name__, counting)
    return calls


def _counting(
    function: Callable[..., object], calls: Counter[str], counted: Callable[..., bool]
) -> Callable[..., object]:
    def counting(*given: object, **options: object) -> object:
        calls[function.__name__] += counted(*given, **options)
        return function(*given, **options)

    return counting
