"""Parameter grids that run inside one test: collecting thousands of tiny tests takes longer than running them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest


def every_case(
    names: str | tuple[str, ...], values: Iterable[Any], ids: Callable[[Any], str] | Iterable[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test once for each case of a grid and fail with the list of all cases that fail.

    The arguments are those of ``pytest.mark.parametrize``, which it replaces where cases are quick. Cases share the
    test's fixtures, so tests that write to ``tmp_path`` or use hypothesis keep ``parametrize``.
    """
    names = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    values = list(values)
    rows = [_row(value, len(names)) for value in values]
    assert rows, f"no cases of {names}: the test could not fail"
    labels = [None] * len(rows) if ids is None or callable(ids) else list(ids)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def loop(**fixtures: Any) -> None:
            failures: list[tuple[str, BaseException]] = []
            for label, value, row in zip(labels, values, rows, strict=True):
                try:
                    test(**fixtures, **dict(zip(names, row, strict=True)))
                except pytest.skip.Exception as reason:
                    raise RuntimeError(f"the case {row} skips the cases after it") from reason
                except (Exception, pytest.fail.Exception) as problem:
                    failures.append((label or _label(value, row, ids if callable(ids) else repr), problem))
            if failures:
                lines = [f"[{label}] {type(problem).__name__}: {problem}" for label, problem in failures]
                summary = f"{len(failures)} of {len(rows)} cases of {test.__name__} fail:\n" + "\n".join(lines)
                raise AssertionError(summary) from failures[0][1]

        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in names]
        assert len(others) + len(names) == len(signature.parameters), f"{test.__name__} does not take all of {names}"
        # pytest reads here which fixtures the test takes; inspect would look through to the test itself
        loop.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        del loop.__wrapped__
        return loop

    return decorate


def _row(value: Any, width: int) -> tuple[Any, ...]:
    """Return the arguments of a case, one for each name."""
    if isinstance(value, type(pytest.param())):
        assert not value.marks, "a case inside a test cannot have a mark"
        return tuple(value.values)
    return (value,) if width == 1 else tuple(value)


def _label(value: Any, row: tuple[Any, ...], write: Callable[[Any], str]) -> str:
    """Return what a case is called when it fails: its own id, or what its arguments are called."""
    if isinstance(value, type(pytest.param())) and value.id:
        return str(value.id)
    return "-".join(str(write(argument)) for argument in row)
