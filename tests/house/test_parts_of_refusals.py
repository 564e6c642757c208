"""Refusals are checked by their kind and parts (``support/refusals.py``): tests do not freeze prose.

Neither by ``match=`` nor by ``assert "some long sentence" in text``.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

from discreet import errors
from discreet.errors import InvalidInput
from support.paths import TESTS
from support.refusals import refused

KINDS = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.DiscreetError)}

#: Refusals matched by their prose. This number may only fall.
MATCHED = 0

#: Words that a text searched for in printed prose may have without being counted as a sentence.
MAX_SUBSTRING_WORDS = 4

#: Sentences searched for in printed prose, outside ``sentences.toml``. This number may only fall.
SUBSTRINGS = 83

#: Marks of a command, of SQL, of code or of a page, whose text is no prose.
NO_PROSE = re.compile(r"--\w|\bSELECT\b|\bdiscreet \w|[<`\n]|dc\.")


def matched(text: str) -> Iterator[int]:
    """Yield the lines with ``pytest.raises(kind, match=...)`` of a kind of refusal."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.raises" and node.args:
            kinds = {part.rpartition(".")[2] for part in ast.unparse(node.args[0]).strip("()").split(", ")}
            if kinds & KINDS and any(keyword.arg == "match" for keyword in node.keywords):
                yield node.lineno


def searched_sentences(text: str) -> Iterator[int]:
    """Yield the lines that assert that a sentence is part of a text, or is not."""
    for check in ast.walk(ast.parse(text)):
        for node in ast.walk(check.test) if isinstance(check, ast.Assert) else ():
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                prose = literal(node.left)
                words = re.findall(r"[^\W\d_][\w'-]*", prose)
                if len(words) > MAX_SUBSTRING_WORDS and not NO_PROSE.search(prose):
                    yield node.lineno


def literal(node: ast.expr) -> str:
    """Return the text that is written in a literal, with a number in the place of each expression."""
    if isinstance(node, ast.Constant):
        return node.value.decode("latin-1") if isinstance(node.value, bytes) else str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
    return ""


def test_fewer_and_fewer_sentences_are_searched_for_in_printed_prose() -> None:
    files = sorted(TESTS.rglob("*.py"))
    assert len(files) > 100
    lines = [
        f"{file.relative_to(TESTS)}:{line}"
        for file in files
        for line in searched_sentences(file.read_text(encoding="utf-8"))
    ]
    assert len(lines) <= SUBSTRINGS, f"check a number, a name or a command, or pin the sentence: {lines}"
    assert len(lines) == SUBSTRINGS, f"lower SUBSTRINGS to {len(lines)}, so that the number can only fall"


def test_a_sentence_that_is_searched_for_is_noticed() -> None:
    for check in ("'one two three four five' in out", "x and b'one two three four five' not in out"):
        assert list(searched_sentences(f"assert {check}")) == [1]
    assert list(searched_sentences("assert f'at most {n} of the reports here' in out")) == [1]
    for check in ("'at most 2.72 plus 3 of 7' in out", "'type discreet verify the folder now' in out", "'a' in out"):
        assert list(searched_sentences(f"assert {check}")) == []


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
