"""JSON that could be read in two ways, or that keeps the reader busy, is refused; one reader serves all."""

from __future__ import annotations

import json
import re

import pytest

import discreet as dc
from discreet.errors import UnreadableFile
from discreet.strict_json import MAX_DEPTH, MAX_DIGITS, read_json
from support.refusals import refused
from support.source import MODULES, text


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"cost": 1, "cost": 2}', "'cost' twice"),
        ('[{"a": {"b": 1, "c": 2, "b": 1}}]', "'b' twice"),
        ('{"\\u0061": 1, "a": 1}', "'a' twice"),
        ("NaN", "has NaN"),
        ("[Infinity]", "has Infinity"),
        ("[-Infinity]", "has -Infinity"),
        ("1e999", "too large"),
        ("-1e999", "too large"),
        ("0." + "1" * MAX_DIGITS, "too many digits"),
        ("9" * (MAX_DIGITS + 1), "digits"),
        ("-" + "9" * MAX_DIGITS, "digits"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "inside each other"),
        ("[" * 10**6, "inside each other"),
        ('{"a":' * 10**5, "inside each other"),
        ("", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("[1] [2]", "not JSON"),
        (b"\xff\xfe1\x00", "not JSON"),
        ("{}".encode("utf-16"), "not JSON"),
    ],
)
def test_what_has_no_one_meaning_is_refused_with_the_name_of_the_file(content, problem):
    with refused(UnreadableFile, token=f"request.json ... {problem}"):
        read_json(content, "request.json")


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5, 1e300, None, True, 'ä [ { \\"'], "b": {"a": {}}},
        10 ** (MAX_DIGITS - 1),
        ["[" * 1000, {"{": "\\" * 7}],
        [[[]]] * 1000,
        0.1,
    ],
    ids=["mixed", "long number", "brackets in texts", "wide", "decimal"],
)
def test_everything_else_is_read_as_json_reads_it(value):
    written = json.dumps(value, ensure_ascii=False)
    marked = b"\xef\xbb\xbf" + written.encode()
    assert read_json(written, "x") == read_json(written.encode(), "x") == read_json(marked, "x") == value


def test_the_deepest_text_that_is_read_is_read():
    depth, inside = 0, read_json("[" * MAX_DEPTH + "]" * MAX_DEPTH, "x")
    while inside:
        (inside,), depth = inside, depth + 1
    assert depth == MAX_DEPTH - 1


def test_a_mechanism_file_with_two_certificates_is_refused(tmp_path):
    """A person reads the first one, and Python's own reader keeps the last."""
    file = tmp_path / "m.json"
    dc.geometric(6, alpha="9/10").save(file)
    written = file.read_text(encoding="utf-8")
    file.write_text(written.replace('"certificate"', '"certificate": {"epsilon": 0.001},\n "certificate"', 1))
    with refused(UnreadableFile, token="'certificate' twice"):
        dc.load(file)


def test_one_reader_reads_all_json():
    """The service parses the bodies of requests by itself, where they are charged."""
    readers = [name for name, path in MODULES.items() if re.search(r"\bjson\.loads?\(", text(path))]
    assert readers == ["release.bundle.verify"]  # what the audit itself has just written
