"""Refusals are checked by their kind and parts (``support/refusals.py``): tests do not freeze prose by ``match=``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import pytest

from discreet import errors
from discreet.errors import InvalidInput
from support.paths import TESTS
from support.refusals import refused

KINDS = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.DiscreetError)}

#: Refusals matched by their prose. This number may only fall.
MATCHED = 0


def matched(text: str) -> Iterator[int]:
    """Yield the lines with ``pytest.raises(kind, match=...)`` of a kind of refusal."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.raises" and node.args:
            kinds = {part.rpartition(".")[2] for part in ast.unparse(node.args[0]).strip("()").split(", ")}
            if kinds & KINDS and any(keyword.arg == "match" for keyword in node.keywords):
                yield node.lineno


def test_no_refusal_is_matched_by_its_prose() -> None:
    files = sorted(TESTS.rglob("*.py"))
    assert len(files) > 100
    lines = [
        f"{file.relative_to(TESTS)}:{line}" for file in files for line in matched(file.read_text(encoding="utf-8"))
    ]
    assert len(lines) <= MATCHED, lines


def test_a_matched_refusal_is_noticed() -> None:
    for kind in ("InvalidInput", "dc.errors.Altered", "(WrongType, ValueError)"):
        assert list(matched(f"with pytest.raises({kind}, match='must be'): pass")) == [1]
    assert list(matched("with pytest.raises(ValueError, match='read-only'): pass")) == []


@pytest.mark.parametrize(
    "parts",
    [{"argument": "n"}, {"given": 1}, {"allowed": "0 or more"}, {"token": "kept"}, {"token": "0.5 ... above 1"}],
)
def test_another_refusal_is_noticed_by_each_of_its_parts(parts: dict[str, str]) -> None:
    problem = InvalidInput.must_be("epsilon", "above 1", 0.5)
    with refused(InvalidInput, "epsilon", given=0.5, allowed="above 1", token="above 1 ... 0.5"):
        raise problem
    with pytest.raises(AssertionError), refused(InvalidInput, **parts):
        raise problem


def test_a_token_is_not_a_sentence() -> None:
    with (
        pytest.raises(AssertionError, match=r"sentences\.toml"),
        refused(InvalidInput, token="epsilon must be above 1"),
    ):
        raise InvalidInput("epsilon must be above 1")
