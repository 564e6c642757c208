"""A request as TOML, one field a line under a comment, and the JSON schema of request files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...datasets.declaration import FIXED
from ...datasets.toml_values import toml_key, toml_value
from ...errors import Mention
from ...report import Json
from .fields import LOCATIONS, FieldWords
from .request import WORDS

#: The format and version in a request file.
STAMP: dict[str, Json] = {"format": "discreet request-file", "version": 1}

#: The words for every field of a request file, in the order of the file.
FILE_WORDS: dict[str, FieldWords] = {"questions": WORDS["questions"], **LOCATIONS, **WORDS}


def toml_text(content: Mapping[str, Json], heading: Sequence[str]) -> str:
    """Return the text of a request file; ``heading`` are the comments at its top."""
    names = [*(name for name in FILE_WORDS if name in content), *(name for name in content if name not in FILE_WORDS)]
    stamps = [name for name in STAMP if name in names]
    tables = [name for name in names if isinstance(content[name], Mapping)]
    lines = [f"# {line}" for line in heading]
    lines += [f"{name} = {toml_value(content[name])}" for name in stamps]
    for name in names:
        if name in stamps or name in tables:
            continue
        lines += _comment(name)
        lines.append(f"{toml_key(name)} = {toml_value(content[name])}")
    for name in tables:
        table = content[name]
        assert isinstance(table, Mapping)
        lines += [*_comment(name), f"[{toml_key(name)}]"]
        lines += [f"{toml_key(one)} = {toml_value(value)}" for one, value in table.items()]
    return "\n".join(lines) + "\n"


def _comment(name: str) -> Iterator[str]:
    if name in FILE_WORDS and FILE_WORDS[name].comment:
        yield ""
        yield f"# {FILE_WORDS[name].comment}"


def request_schema() -> dict[str, Json]:
    """Return the JSON schema of request files, which ``schemas/request-file.json`` holds."""
    properties = {
        name: {"description": words.help_text(_in_files), **words.schema} for name, words in FILE_WORDS.items()
    }
    stamp = {name: {"const": value} for name, value in STAMP.items()}
    a_file: dict[str, Json] = {"type": "string", "pattern": r"\.[Tt][Oo][Mm][Ll]$"}
    fixed_by_declaration = [{"required": [name]} for name in FIXED if name in FILE_WORDS and name != "dataset"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "discreet/request-file/1",
        "title": "A request file",
        "description": "Everything of a release, as a TOML file says it. Files are named relative to it; a password is "
        "refused.",
        "type": "object",
        "properties": stamp | properties,
        "required": ["questions"],
        "if": {"properties": {"dataset": a_file}, "required": ["dataset"]},
        "then": {"not": {"anyOf": fixed_by_declaration}},
        "else": {"required": ["unit"]},
        "additionalProperties": False,
    }


def _in_files(mention: Mention) -> str:
    """Write a field as a request file does."""
    return f"{mention.name} = {mention.value}" if mention.value else mention.name
