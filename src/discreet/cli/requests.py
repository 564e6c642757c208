"""A request as it is typed: options of the command line, or the fields of a request file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from ..errors import Mention, arg

if TYPE_CHECKING:
    from ..datasets.declaration import Declaration
    from ..release.plan.request import ReleaseRequest, RequestFields
    from ..release.plan.request_file import RequestFile


class RequestCommand(TyperCommand):
    """A verb whose options are the fields of a request, which have the help texts."""

    def get_params(self, ctx: Any) -> list[Any]:
        from ..release.plan.toml_text import FILE_WORDS

        for parameter in self.params:
            words = FILE_WORDS.get(str(parameter.name))
            if words is not None and isinstance(parameter, TyperOption | TyperArgument):
                parameter.help = words.help_text(as_option)
        return super().get_params(ctx)


def as_option(mention: Mention) -> str:
    """Write a field as its option."""
    return f"--{mention.name.replace('_', '-')} {mention.value}".rstrip()


def request_file(context: typer.Context, questions: list[str]) -> RequestFile | None:
    """Return the request file, if one is given; refuse options that it replaces."""
    from ..errors import InvalidInput
    from ..release.plan.request_file import is_request_file, open_request

    if not is_request_file(questions):
        return None
    for name in typed_fields(context):
        if name != "edition":
            option = f"--{name.replace('_', '-')}"
            raise InvalidInput(f"{questions[0]} already has the request.", f"Leave {option} out, or change the file.")
    return open_request(questions[0])


def dataset_of(file: RequestFile) -> Declaration | None:
    """Return the declaration that a request file names, or None."""
    from ..datasets.declaration import Declaration

    return None if file.dataset is None else Declaration.open(file.dataset)


def paths_of(context: typer.Context, file: RequestFile | None) -> dict[str, str]:
    """Return the paths of the options, or else of the request file."""
    from ..release.plan.fields import LOCATIONS

    options = {name: str(context.params[name]) for name in LOCATIONS if context.params[name] is not None}
    return options if file is None else file.locations | options


def of_this_edition(file: RequestFile, edition: str | None, data: str | None) -> ReleaseRequest:
    """Return the request of a file for this edition; for other data, keep the dataset's name of the file's data."""
    from dataclasses import replace

    from ..addresses import read_address
    from ..errors import InvalidInput

    request = file.request if edition is None else replace(file.request, edition=edition)
    if data is None or file.data is None or read_address(data).dataset == read_address(file.data).dataset:
        return request
    if edition is None:
        raise InvalidInput(
            f"{read_address(data)} is not the file of {file.path}, so it is an edition of its own.",
            f"Name it: {arg('edition', '2026-Q2')}.",
            argument="edition",
        )
    return replace(request, dataset=request.dataset or read_address(file.data).dataset)


@contextmanager
def file_field_names(questions: list[str]) -> Iterator[None]:
    """Raise errors about a request file with its fields as the file writes them, not as options."""
    from ..errors import InvalidInput
    from ..release.plan.request import RequestFields
    from ..release.plan.request_file import as_line, is_request_file

    def write(mention: Mention) -> str:
        if mention.kind == "call":
            return mention.name
        # an option that may be given next to a file
        if mention.name == "edition" or mention.name not in RequestFields.__annotations__:
            return arg(mention.name, mention.value) if mention.value else arg(mention.name)
        return mention.name if mention.kind == "name" or not mention.value else as_line(mention.name, mention.value)

    try:
        yield
    except InvalidInput as problem:
        if not is_request_file(questions) or problem.argument not in RequestFields.__annotations__:
            raise
        raise type(problem)(problem.written(write), argument=problem.argument) from None


def typed_fields(context: typer.Context) -> dict[str, object]:
    """Return the fields of a request as they were typed: the options with the name of a field."""
    from ..release.plan.request import WORDS

    source = context.get_parameter_source
    return {
        name: value
        for name, value in context.params.items()
        if name != "questions" and name in WORDS and getattr(source(name), "name", "") == "COMMANDLINE"
    }


def request_fields(context: typer.Context) -> RequestFields:
    """Return the fields of the request on the command line, converted."""
    return cast("RequestFields", {name: _field_value(name, value) for name, value in typed_fields(context).items()})


def _field_value(name: str, value: object) -> object:
    """Convert the value of an option to that of its field."""
    from ..errors import InvalidInput
    from ..release.plan.request_file import find_mechanism

    if name == "error" and isinstance(value, str):
        if not (value.isascii() and value.isdecimal()):
            raise InvalidInput.must_be(
                "error", "a whole number", value, f"A count may be so far off: {arg('error', 5)}.", argument="error"
            )
        return int(value)
    if name == "mechanism" and isinstance(value, str):
        return find_mechanism(value)
    if name == "split" and isinstance(value, str) and any(sign.isdigit() for sign in value):
        return value.split(",")
    return value


def write_typed(context: typer.Context, file: Path, questions: list[str], declaration: Declaration | None) -> None:
    """Write the request of this command line to a file, as it was typed, with the dataset file that it names."""
    from ..errors import InvalidInput
    from ..release.plan.fields import LOCATIONS
    from ..release.plan.request_file import is_request_file, write_request

    if is_request_file(questions):
        raise InvalidInput(f"{questions[0]} is a request file already.", f"Leave {arg('write')} out.")
    paths = {name: context.params[name] for name in LOCATIONS}
    typed = typed_fields(context)
    fields = {name: value if name == "mechanism" else _field_value(name, value) for name, value in typed.items()}
    if declaration is not None:
        fields["dataset"] = str(declaration.path)
    write_request(file, questions, **paths, **cast("RequestFields", fields))
