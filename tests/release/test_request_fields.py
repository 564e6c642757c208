"""A field of a request states its words once: help, request files, forms and the schema read them there."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any, get_args, get_type_hints

import pytest
from jsonschema import Draft202012Validator
from typer.main import get_command

from discreet.cli.main import app
from discreet.cli.release import release
from discreet.release.plan.fields import LOCATIONS, FieldWords
from discreet.release.plan.request import WORDS, ReleaseRequest, RequestFields
from discreet.release.plan.toml_text import FILE_WORDS, STAMP, request_schema, toml_text
from discreet.web.frame.rendering import TITLES
from support.command_line import run
from support.request_schema import FILE, schema_text

FIELDS = {field.name: field for field in dataclasses.fields(ReleaseRequest)}
KEYWORDS = {name: field for name, field in FIELDS.items() if name != "questions"}
SIGNATURE = inspect.signature(release).parameters


def test_keywords_and_options_have_the_names_of_the_fields() -> None:
    assert list(RequestFields.__annotations__) == list(KEYWORDS), "RequestFields lists the fields in their order"
    assert set(FILE_WORDS) <= set(SIGNATURE), "a field of a request has no option"
    assert list(FILE_WORDS) == ["questions", *LOCATIONS, *KEYWORDS]


def test_options_have_the_defaults_of_the_fields() -> None:
    given = {name: SIGNATURE[name].default for name in KEYWORDS if SIGNATURE[name].default is not None}
    read = ReleaseRequest(questions=("SELECT COUNT(*) FROM t",), unit="row", **given)
    usual = {name: field.default for name, field in KEYWORDS.items()}
    assert {name: getattr(read, name) for name in given} == {name: usual[name] for name in given}
    assert {"delta", "mechanism", "level"} <= set(given)
    assert {usual[name] for name in KEYWORDS if name not in given} <= {None, (), "", dataclasses.MISSING}


def test_no_option_writes_words_of_its_own() -> None:
    hints = get_type_hints(release, include_extras=True)
    own = {name: [one.help for one in get_args(hints[name])[1:] if hasattr(one, "help")] for name in FILE_WORDS}
    assert all(help is None for helps in own.values() for help in helps)


def test_help_says_what_the_fields_say() -> None:
    verb: Any = get_command(app).commands["release"]  # type: ignore[attr-defined]
    context = verb.make_context("release", ["SELECT 1"], resilient_parsing=True)
    helps = {one.name: one.help for one in verb.get_params(context)}
    for name, words in FILE_WORDS.items():
        expected = words.help_text(lambda mention: f"--{mention.name.replace('_', '-')} {mention.value}".rstrip())
        assert helps[name] == expected, name
    shown = re.sub(r"[\s│]+", " ", run("release", "--help", env={"COLUMNS": "4000"}).stdout)
    assert f"{helps['error']}" in shown and "with probability --level." in shown and "With --unit row:" in shown


def test_a_request_file_has_the_comments_of_the_fields() -> None:
    content = {name: [1] if name in ("domain", "bands") else "x" for name in reversed(FILE_WORDS)}
    text = toml_text(content, ["heading"])
    assert list(re.findall(r"(?m)^(\w+) = ", text)) == list(FILE_WORDS)
    comments = [line[2:] for line in text.splitlines() if line.startswith("# ")][1:]
    assert comments == [words.comment for words in FILE_WORDS.values() if words.comment]


def test_the_schema_of_the_package_is_what_the_fields_say() -> None:
    assert FILE.read_text(encoding="utf-8") == schema_text(), "write it anew: python -m support.request_schema"
    schema = request_schema()
    Draft202012Validator.check_schema(schema)
    assert list(schema["properties"]) == [*STAMP, *FILE_WORDS]  # type: ignore[call-overload,arg-type]


def test_forms_have_the_titles_of_the_fields() -> None:
    assert {name: TITLES[name] for name in FILE_WORDS} == {name: words.title for name, words in FILE_WORDS.items()}


@pytest.mark.parametrize("name", FILE_WORDS)
def test_every_field_says_all_that_is_read(name: str) -> None:
    words = FILE_WORDS[name]
    assert isinstance(words, FieldWords) and words.help_text(str).endswith(".") and words.title and words.schema
    assert not re.search(r"--\w", words.help_text(str)), "mention other fields by arg(...)"
    assert name in LOCATIONS or re.search(rf"(?m)^    (\w+, )?{name}(, \w+)?$", ReleaseRequest.__doc__ or "")
    assert name in LOCATIONS or WORDS[name] is FIELDS[name].metadata["words"]
