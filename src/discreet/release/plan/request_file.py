"""A release request in a TOML file, to be reviewed before anything is spent.

The fields are those of :class:`~.request.RequestFields` by their names, and ``questions``, ``data``, ``ledger`` and
``out``. Files are named relative to the request file, so that it can be run from any folder. Numbers with a point are
exact decimals (0.1 is 1/10). A password is refused: everyone may read a request.

Where ``dataset`` names a dataset file, that file fixes some fields, and the request must leave them out.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from ...datasets.declaration import FIXED, fixed_field_error
from ...datasets.locations import refuse_password, relative_location, relative_path, resolve_location
from ...datasets.search import is_declaration
from ...datasets.toml_domains import read_toml_domain, toml_domain
from ...errors import DiscreetError, InvalidInput, InWords, UnreadableFile, WrongType, named, warn_renamed
from ...exact.rationals import as_fraction
from ...files import load
from ...lists import read_list
from ...mechanism import Mechanism
from ...ptables.read import read_ptable
from ...ptables.table import PTable
from ...questions.bands import bands_from
from ...questions.domains import split_domain
from ...report import Json, Report, Result, Section, Terms, stamped
from ...sources.encodings import read_text_file
from ...wording import nearest
from .fields import LOCATIONS, NUMBER, ROWS
from .request import WORDS, ReleaseRequest, RequestFields, read_request
from .toml_text import FILE_WORDS, STAMP, toml_text

#: The ending of a request file's name.
ENDING = ".toml"

#: Fields whose value, if it is text, is the name of a file.
_FILES = tuple(name for name, words in WORDS.items() if words.schema == ROWS)

#: Fields whose values are numbers, which keep their digits as typed.
_NUMBERS = tuple(name for name, words in WORDS.items() if words.schema == NUMBER)

#: The noun for the file in messages.
_WHAT = "a request"

_HEADING = (
    "A release of private counts. Nothing is read or spent before it is run:",
    "  discreet release {name} --plan    shows the cells, the noise and the cost",
    "  discreet release {name}           releases",
)


@dataclass(frozen=True, eq=False)
class RequestFile(Result):
    """A request in a file, as :func:`open_request` reads it.

    Attributes
    ----------
    path
        The file.
    content
        The values of its fields, by name.
    questions, fields
        The SQL, and the other fields of the request, as keywords.
    dataset
        The dataset file that the question is about; None if the request names none.
    data, ledger, out
        Addresses of the table, the ledger and the bundle; None where the file gives none. Files are relative to the
        working folder.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "request.toml"
    >>> _ = file.write_text('questions = "SELECT COUNT(*) FROM visits"\\nunit = "row"\\nepsilon = 1')
    >>> request_file = dc.open_request(file)
    >>> request_file.request.epsilon, request_file.locations
    (Fraction(1, 1), {})
    """

    path: Path
    content: Mapping[str, Json]
    questions: str | Sequence[str]
    fields: Mapping[str, object]
    dataset: str | None
    data: str | None
    ledger: str | None
    out: str | None

    @cached_property
    def request(self) -> ReleaseRequest:
        """The request; refused for a question to a data set, whose dataset file has the other fields."""
        if self.dataset is not None:
            other = "" if self.data is None else ".with_data(asked.data, edition=asked.fields['edition'])"
            raise InvalidInput(
                f"{self.path.name} asks the dataset in {self.dataset}, which says the rest.",
                f"Ask there: dc.Dataset.open(asked.dataset){other}.plan(asked.questions, **asked.fields).",
                argument="dataset",
            )
        return read_request(self.questions, **self.fields)  # type: ignore[arg-type]  # every field is read there

    @property
    def locations(self) -> dict[str, str]:
        """Addresses of the data, the ledger and the bundle, as keywords, where the file gives them."""
        addresses = {"data": self.data, "ledger": self.ledger, "out": self.out}
        return {name: address for name, address in addresses.items() if address is not None}

    @property
    def places(self) -> dict[str, str]:
        """Deprecated name of :attr:`locations`."""
        warn_renamed("places", "locations")
        return self.locations

    def to_json(self) -> dict[str, Json]:
        """Return the fields of the file."""
        fields = {name: value for name, value in self.content.items() if name not in STAMP}
        return stamped("request-file", 1, fields)

    def report(self) -> Report:
        """Report the fields, as the file has them."""
        pairs = tuple((name, _in_words(value)) for name, value in self.to_json().items() if name not in STAMP)
        return Report(f"The request in {self.path.name}", "A request", sections=(Section(parts=(Terms(pairs),)),))

    def __str__(self) -> str:
        return self.describe()


def _in_words(value: Json) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_in_words(one)}" for name, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_in_words, value))
    return str(value)


def is_request_file(questions: Sequence[str]) -> bool:
    """Return whether the questions are in fact the name of a request file."""
    return len(questions) == 1 and questions[0].lower().endswith(ENDING) and "\n" not in questions[0]


# ------------------------------------------------------------------------------------------------ reading


def open_request(path: str | Path, **changed: object) -> RequestFile:
    """Read a request from a TOML file. The data is not read.

    Parameters
    ----------
    path
        The file. ``dc.write_request`` and ``discreet release ... --plan --write FILE`` write one.
    changed
        Fields that replace those of the file, such as ``edition``.

    Raises
    ------
    UnreadableFile
        When the file does not exist, is not TOML, or has a field that cannot be used.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "request.toml"
    >>> _ = file.write_text('''
    ... questions = "SELECT site, COUNT(*) FROM visits GROUP BY site"
    ... data = "visits.csv"
    ... unit = "person"
    ... max_groups = 1   # each person is counted in one group
    ... epsilon = 0.5
    ... [domain]
    ... site = "1..6"
    ... ''')
    >>> request_file = dc.open_request(file)
    >>> plan = dc.plan_release(request_file.request, data=request_file.data)
    >>> plan.cells, str(plan.cost.epsilon)
    (6, '1/2')
    """
    file = Path(path)
    content = _read(file) | changed
    try:
        _check_fields(content)
        addresses = {name: _address(content[name], name, file.parent) for name in LOCATIONS if name in content}
        fields = {name: _field(name, value, file.parent) for name, value in content.items() if name not in LOCATIONS}
        questions = fields.pop("questions", None)
        if not isinstance(questions, str | list):
            raise InvalidInput("the question is missing.", 'Write it as: questions = "SELECT ..."')
        keywords = {name: value for name, value in fields.items() if name not in STAMP}
        dataset = str(file.parent / str(keywords.pop("dataset"))) if _names_declaration(content) else None
        request_file = RequestFile(file, content, questions, keywords, dataset, *map(addresses.get, LOCATIONS))
        if dataset is None:
            _ = request_file.request  # checks every field
    except DiscreetError as problem:
        raise UnreadableFile.because(str(file), problem) from None
    return request_file


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text_file(file), parse_float=str)
    except tomllib.TOMLDecodeError as problem:
        raise UnreadableFile(f"{file} is not TOML: {problem}.", "Texts stand in quotes.") from None


def _names_declaration(content: Mapping[str, object]) -> bool:
    """Return whether ``dataset`` is a dataset file; otherwise it is the name of a data set."""
    dataset = content.get("dataset")
    return isinstance(dataset, str | Path) and is_declaration(str(dataset))


def _check_fields(content: Mapping[str, object]) -> None:
    fixed_by_declaration = {*FIXED} - {"dataset"} if _names_declaration(content) else set()
    for name in content:
        if name in fixed_by_declaration:
            raise fixed_field_error(Path(str(content["dataset"])).name, name, name)
        if name in STAMP:
            if content[name] != STAMP[name]:
                raise InvalidInput.must_be(name, f"{STAMP[name]!r}", content[name])
        elif name not in FILE_WORDS:
            near = nearest(name, FILE_WORDS)
            suggestion = f"Did you mean {near}? " if near else ""
            raise InvalidInput(f"a request has no field {name!r}.", f"{suggestion}It has {', '.join(FILE_WORDS)}.")


def _field(name: str, value: object, folder: Path) -> object:
    """Return a field as a request takes it; resolve files against the folder of the request file."""
    if name == "domain" and isinstance(value, Mapping):
        return {column: read_toml_domain(column, values, folder) for column, values in value.items()}
    if name == "domain" and isinstance(value, list):
        return dict(_read_domain(text, folder) for text in value)
    if name in _FILES and isinstance(value, str):
        return str(folder / value)
    if name == "mechanism" and isinstance(value, str):
        return find_mechanism(value, folder)
    return value


def _read_domain(text: object, folder: Path) -> tuple[str, object]:
    column, body = split_domain(text)  # type: ignore[arg-type]  # refuses values that are not text
    return column, read_toml_domain(column, body, folder)


def find_mechanism(name: str, folder: Path | None = None) -> str | Mechanism | PTable:
    """Return the name of a mechanism as it is; load a mechanism or a p-table from its file."""
    if not Path(name).suffix:
        return name
    file = name if folder is None else str(folder / name)
    return load(file) if name.endswith(".json") else read_ptable(file)


def _address(value: object, name: str, folder: Path) -> str:
    if not isinstance(value, str | Path):
        raise WrongType.must_be(name, "a text", InWords(f"a {type(value).__name__}"))
    text = os.fspath(value)
    if name == "out":
        refuse_password(text, name, _WHAT)
        return str(folder / text)
    return resolve_location(text, name, folder, _WHAT)


# ------------------------------------------------------------------------------------------------ writing


def write_request(
    path: str | Path, questions: str | Sequence[str], *, data: str | Path | None = None,
    ledger: str | Path | None = None, out: str | Path | None = None, **fields: Unpack[RequestFields],
) -> Path:  # fmt: skip
    """Write a request to a TOML file, to be reviewed and run: ``discreet release FILE``.

    Parameters
    ----------
    path
        The file, ending in .toml. It must not exist.
    questions, data, ledger, out, fields
        As for :func:`discreet.release_counts`. A file cannot hold a table or a mechanism of your program: save it, and
        name its file.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "request.toml"
    >>> _ = dc.write_request(
    ...     file, "SELECT COUNT(*) FROM visits", data="visits.csv", unit="person", epsilon="0.5",
    ... )
    >>> print(*file.read_text().splitlines()[-5:], sep="\\n")
    # Whose data is protected: the column that names them, or row.
    unit = "person"
    <BLANKLINE>
    # The privacy of the whole release, per unit; or the error that is allowed.
    epsilon = 0.5
    """
    file = Path(path)
    if file.suffix.lower() != ENDING:
        raise InvalidInput.must_be("path", f"a file whose name ends in {ENDING}", file.name)
    if os.path.lexists(file):
        raise InvalidInput(f"{file} exists already.", "Choose another name, or remove it first.", argument="path")
    text = request_text(file, questions, {"data": data, "ledger": ledger, "out": out, **fields})
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
        raise InvalidInput(f"cannot write {file}: {why}.", "Choose another place.", argument="path") from None
    return file


def request_text(file: Path, questions: str | Sequence[str], fields: Mapping[str, Any]) -> str:
    """Return the text of a request file at this path, without the fields that are None."""
    texts = [questions] if isinstance(questions, str) else read_list(questions, "questions", "questions")
    content: dict[str, Json] = {**STAMP, "questions": texts[0] if len(texts) == 1 else texts}
    for name, value in fields.items():
        if value is not None:
            content[name] = _field_json(name, value, file.parent)
    _check_fields(content)
    return toml_text(content, [line.format(name=file.name) for line in _HEADING])


def as_line(name: str, typed: str) -> str:
    """Return the line of a request file for a field typed on a command line.

    >>> as_line("max_groups", "1"), as_line("edition", "2026-11"), as_line("domain", "site=1..6")
    ('max_groups = 1', 'edition = "2026-11"', 'domain.site = "1..6"')
    >>> as_line("bands", "age=18,30,65")
    'bands.age = "18,30,65"'
    """
    if name in ("domain", "bands") and "=" in typed:
        column, body = split_domain(typed, name)
        return f"{name}.{as_line(column, body)}"
    bare = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", typed)
    return f"{name} = {typed}" if bare else f'{name} = "{typed}"'


def _field_json(name: str, value: Any, folder: Path) -> Json:
    if name in LOCATIONS:
        text = os.fspath(value)
        if name == "out":
            refuse_password(text, name, _WHAT)
            return relative_path(text, folder)
        return relative_location(text, name, folder, _WHAT)
    if (name in _FILES and isinstance(value, str | Path)) or _names_declaration({name: value}):
        return relative_path(value, folder)
    if name == "mechanism" and isinstance(value, str) and Path(value).suffix:
        return relative_path(value, folder)
    if name == "domain":
        return _domain_json(value, folder)
    if name == "bands" and isinstance(value, Mapping):
        return {
            str(column): edges if isinstance(edges, str) else bands_from(str(column), edges).body
            for column, edges in value.items()
        }
    return _json(name, value)


def _domain_json(domain: Mapping[str, Any] | Sequence[str], folder: Path) -> Json:
    if isinstance(domain, Mapping):
        return {str(column): _json("domain", toml_domain(str(column), values)) for column, values in domain.items()}
    split = [split_domain(text) for text in ([domain] if isinstance(domain, str) else domain)]
    if len({column for column, _ in split}) < len(split):
        return [str(text) for text in domain]  # reading it refuses the column that is declared twice
    bodies = {column: body.strip() for column, body in split}
    return {
        column: f"@{relative_path(body[1:], folder)}" if body.startswith("@") else body
        for column, body in bodies.items()
    }


def _json(name: str, value: Any) -> Json:
    """Return a value as a file has it: a number where that is exact, otherwise text."""
    if isinstance(value, Fraction):
        value = str(value)
    if isinstance(value, str) and name in _NUMBERS:
        return _number(value)
    if isinstance(value, Mapping):
        return {str(key): _json(name, one) for key, one in value.items()}
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):  # a number of NumPy
        return _json(name, value.item())
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_json(name, one) for one in value]
    raise WrongType(
        f"{named(name)} is an object of your program ({type(value).__name__}), which a file cannot hold.",
        "Save it, and name the file; or name what it is.",
        argument=name,
    )


def _number(text: str) -> Json:
    """Return a number as it was typed if TOML reads exactly that number from it, otherwise its text."""
    try:
        exact = as_fraction(text)
        value = tomllib.loads(f"x = {text.strip()}", parse_float=str)["x"]
        same = isinstance(value, str | int) and not isinstance(value, bool) and as_fraction(value) == exact
    except (DiscreetError, tomllib.TOMLDecodeError):
        return text
    return _NumberAsTyped(text.strip()) if same and not isinstance(value, int) else int(exact) if same else text


class _NumberAsTyped(float):
    """A number that keeps its digits as typed."""

    def __new__(cls, text: str) -> _NumberAsTyped:
        number = super().__new__(cls, float(text))
        number._text = text
        return number

    _text: str

    def __repr__(self) -> str:
        return self._text
