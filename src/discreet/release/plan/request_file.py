"""A request in a file: everything of a release in TOML, to be read and reviewed before anything is spent.

The fields are those of :class:`~.request.RequestFields` by their names, and ``questions``, ``data``, ``ledger`` and
``out``. Files are named relative to the request file, so that it means the same wherever it is run. Numbers with a
point are read as they are written (0.1 is 1/10). A password is refused: a request is for everyone to read.

Where ``dataset`` names a dataset file, the question is asked of that data set, and what it fixes cannot stand here.
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

from ...datasets.declaration import FIXED, fixed_in
from ...datasets.finding import is_declaration
from ...datasets.places import refuse_password, relative_path, relative_place, resolved_place
from ...datasets.written_values import read_written_values, written_values
from ...errors import DiscreetError, InvalidInput, InWords, UnreadableFile, WrongType, named
from ...exact.rationals import as_fraction
from ...files import load
from ...mechanism import Mechanism
from ...ptables.reading import read_ptable
from ...ptables.table import PTable
from ...questions.bands import bands_from
from ...questions.domains import split_domain
from ...report import Json, Report, Result, Section, Terms, stamped
from ...wording import nearest
from .fields import NUMBER, PLACES, ROWS
from .request import WORDS, ReleaseRequest, RequestFields, read_request
from .toml_text import FILE_WORDS, STAMP, toml_text

#: What a file is called that holds a request.
ENDING = ".toml"

#: Fields whose text is the name of a file.
_FILES = tuple(name for name, words in WORDS.items() if words.schema == ROWS)

#: Fields that are numbers, kept as they were typed.
_NUMBERS = tuple(name for name, words in WORDS.items() if words.schema == NUMBER)

#: What the file is, for messages.
_WHAT = "a request"

_HEADING = (
    "A release of private counts. Nothing is read or spent before it is run:",
    "  discreet release {name} --plan    shows the cells, the noise and the cost",
    "  discreet release {name}           releases",
)


@dataclass(frozen=True, eq=False)
class RequestFile(Result):
    """A request that was read from a file: :func:`open_request` gives it.

    Attributes
    ----------
    path
        The file.
    content
        What it says, by the names of its fields.
    questions, fields
        The SQL, and everything else that is asked, as keywords.
    dataset
        The dataset file that the question is asked of; None where the request says everything.
    data, ledger, out
        Where the table, the ledger and the bundle are; None where the file does not say it. Files are found from here.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "request.toml"
    >>> _ = file.write_text('questions = "SELECT COUNT(*) FROM visits"\\nunit = "row"\\nepsilon = 1')
    >>> asked = dc.open_request(file)
    >>> asked.request.epsilon, asked.places
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
        """What is asked; a question to a data set is completed by what that declares."""
        if self.dataset is not None:
            other = "" if self.data is None else ".with_data(asked.data, edition=asked.fields['edition'])"
            raise InvalidInput(
                f"{self.path.name} asks the dataset in {self.dataset}, which says the rest.",
                f"Ask there: dc.Dataset.open(asked.dataset){other}.plan(asked.questions, **asked.fields).",
                argument="dataset",
            )
        return read_request(self.questions, **self.fields)  # type: ignore[arg-type]  # every field is read there

    @property
    def places(self) -> dict[str, str]:
        """The data, the ledger and the folder of the bundle, as keywords, where the file says them."""
        named = {"data": self.data, "ledger": self.ledger, "out": self.out}
        return {name: place for name, place in named.items() if place is not None}

    def to_json(self) -> dict[str, Json]:
        """What the file says."""
        said = {name: value for name, value in self.content.items() if name not in STAMP}
        return stamped("request-file", 1, said)

    def report(self) -> Report:
        """The fields, as the file has them."""
        pairs = tuple((name, _shown(value)) for name, value in self.to_json().items() if name not in STAMP)
        return Report(f"The request in {self.path.name}", "A request", sections=(Section(parts=(Terms(pairs),)),))

    def __str__(self) -> str:
        return self.describe()


def _shown(value: Json) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_shown(one)}" for name, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_shown, value))
    return str(value)


def is_request_file(questions: Sequence[str]) -> bool:
    """Whether what was given for the questions is the name of a request file."""
    return len(questions) == 1 and questions[0].lower().endswith(ENDING) and "\n" not in questions[0]


# ------------------------------------------------------------------------------------------------ reading


def open_request(path: str | Path, **changed: object) -> RequestFile:
    """The request that a TOML file holds. Nothing of the data is looked at.

    Parameters
    ----------
    path
        The file. ``dc.write_request`` and ``discreet release ... --plan --write FILE`` write one.
    changed
        Fields that are other this time than in the file, such as ``edition``.

    Raises
    ------
    UnreadableFile
        When there is no such file, or it is not TOML, or a field cannot be used.

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
    >>> asked = dc.open_request(file)
    >>> plan = dc.plan_release(asked.request, data=asked.data)
    >>> plan.cells, str(plan.cost.epsilon)
    (6, '1/2')
    """
    file = Path(path)
    content = _read(file) | changed
    try:
        _check_fields(content)
        places = {name: _place(content[name], name, file.parent) for name in PLACES if name in content}
        fields = {name: _field(name, value, file.parent) for name, value in content.items() if name not in places}
        questions = fields.pop("questions", None)
        if not isinstance(questions, str | list):
            raise InvalidInput("the question is missing.", 'Write it as: questions = "SELECT ..."')
        asked = {name: value for name, value in fields.items() if name not in STAMP}
        dataset = str(_found(str(asked.pop("dataset")), file.parent)) if _asks_dataset(content) else None
        found = {name: places.get(name) for name in PLACES}
        opened = RequestFile(file, content, questions, asked, dataset, found["data"], found["ledger"], found["out"])
        if dataset is None:
            _ = opened.request  # which reads every field
    except DiscreetError as problem:
        raise UnreadableFile.because(str(file), problem) from None
    return opened


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as problem:
        raise UnreadableFile(f"cannot read {file}: {problem.strerror or type(problem).__name__}.") from None
    except UnicodeDecodeError:
        raise UnreadableFile(f"{file} is not UTF-8 text.", "Save it as UTF-8.") from None
    try:
        return tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as problem:
        raise UnreadableFile(f"{file} is not TOML: {problem}.", "Texts stand in quotes.") from None


def _asks_dataset(content: Mapping[str, object]) -> bool:
    """Return whether a question is asked of a dataset file; any other data set is a name."""
    dataset = content.get("dataset")
    return isinstance(dataset, str | Path) and is_declaration(str(dataset))


def _check_fields(content: Mapping[str, object]) -> None:
    fixed = {*FIXED} - {"dataset"} if _asks_dataset(content) else set()
    for name in content:
        if name in fixed:
            raise fixed_in(Path(str(content["dataset"])).name, name, name)
        if name in STAMP:
            if content[name] != STAMP[name]:
                raise InvalidInput.must_be(name, f"{STAMP[name]!r}", content[name])
        elif name not in FILE_WORDS:
            near = nearest(name, FILE_WORDS)
            meant = f"Did you mean {near}? " if near else ""
            raise InvalidInput(f"a request has no field {name!r}.", f"{meant}It has {', '.join(FILE_WORDS)}.")


def _field(name: str, value: object, folder: Path) -> object:
    """A field as a request takes it; files are found from the folder of the request file."""
    if name == "domain" and isinstance(value, Mapping):
        return {column: read_written_values(column, values, folder) for column, values in value.items()}
    if name == "domain" and isinstance(value, list):
        return dict(_declared(text, folder) for text in value)
    if name in _FILES and isinstance(value, str):
        return str(_found(value, folder))
    if name == "mechanism" and isinstance(value, str):
        return mechanism_named(value, folder)
    return value


def _declared(text: object, folder: Path) -> tuple[str, object]:
    column, body = split_domain(text)  # type: ignore[arg-type]  # which refuses what is no text
    return column, read_written_values(column, body, folder)


def mechanism_named(name: str, folder: Path | None = None) -> str | Mechanism | PTable:
    """A mechanism by name, from its file, or a p-table from one."""
    if not Path(name).suffix:
        return name
    file = name if folder is None else str(_found(name, folder))
    return load(file) if name.endswith(".json") else read_ptable(file)


def _found(name: str, folder: Path) -> Path:
    return folder / name


def _place(given: object, name: str, folder: Path) -> str:
    if not isinstance(given, str | Path):
        raise WrongType.must_be(name, "a text", InWords(f"a {type(given).__name__}"))
    text = os.fspath(given)
    if name == "out":
        refuse_password(text, name, _WHAT)
        return str(_found(text, folder))
    return resolved_place(text, name, folder, _WHAT)


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
        As for :func:`discreet.release_counts`. Tables and mechanisms of your program are in no file: save them, and
        name the file.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "request.toml"
    >>> _ = dc.write_request(
    ...     file, "SELECT COUNT(*) FROM visits", data="visits.csv", unit="person", epsilon="0.5",
    ... )
    >>> print(*file.read_text().splitlines()[-5:], sep="\\n")
    # Whose data is protected: a column that tells them apart, or row.
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
    """What a request file says that will stand there; None is left out."""
    asked = [questions] if isinstance(questions, str) else list(questions)
    content: dict[str, Json] = {**STAMP, "questions": asked[0] if len(asked) == 1 else asked}
    for name, value in fields.items():
        if value is not None:
            content[name] = _written(name, value, file.parent)
    _check_fields(content)
    return toml_text(content, [line.format(name=file.name) for line in _HEADING])


def as_line(name: str, typed: str) -> str:
    """A field and its value as a request file has them, from what is typed on a command line.

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


def _written(name: str, value: Any, folder: Path) -> Json:
    if name in PLACES:
        text = os.fspath(value)
        if name == "out":
            refuse_password(text, name, _WHAT)
            return relative_path(text, folder)
        return relative_place(text, name, folder, _WHAT)
    if (name in _FILES and isinstance(value, str | Path)) or _asks_dataset({name: value}):
        return relative_path(value, folder)
    if name == "mechanism" and isinstance(value, str) and Path(value).suffix:
        return relative_path(value, folder)
    if name == "domain":
        return _written_domain(value, folder)
    if name == "bands" and isinstance(value, Mapping):
        return {
            str(column): edges if isinstance(edges, str) else bands_from(str(column), edges).body
            for column, edges in value.items()
        }
    return _json(name, value)


def _written_domain(domain: Mapping[str, Any] | Sequence[str], folder: Path) -> Json:
    if isinstance(domain, Mapping):
        return {str(column): _json("domain", written_values(str(column), values)) for column, values in domain.items()}
    split = [split_domain(text) for text in ([domain] if isinstance(domain, str) else domain)]
    if len({column for column, _ in split}) < len(split):
        return [str(text) for text in domain]  # declared twice, which is refused when it is read
    bodies = {column: body.strip() for column, body in split}
    return {
        column: f"@{relative_path(body[1:], folder)}" if body.startswith("@") else body
        for column, body in bodies.items()
    }


def _json(name: str, value: Any) -> Json:
    """A value as a file has it: numbers as numbers where nothing is lost, everything else as text."""
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
    """A number as it was typed, where TOML reads the very same number from it."""
    try:
        exact = as_fraction(text)
        read = tomllib.loads(f"x = {text.strip()}", parse_float=str)["x"]
        same = isinstance(read, str | int) and not isinstance(read, bool) and as_fraction(read) == exact
    except (DiscreetError, tomllib.TOMLDecodeError):
        return text
    return _Typed(text.strip()) if same and not isinstance(read, int) else int(exact) if same else text


class _Typed(float):
    """A number that is written as it was typed."""

    def __new__(cls, text: str) -> _Typed:
        made = super().__new__(cls, float(text))
        made._text = text
        return made

    _text: str

    def __repr__(self) -> str:
        return self._text
