"""Values of groups as people write them: domains such as ``site=1..6``, lists, and CSV files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path

from ..errors import InvalidInput, InWords, UnreadableFile, WrongType
from ..sources.encodings import read_text_file
from .expressions import LARGEST_WHOLE

#: None: the rows where the column is NULL.
Value = int | str | None
Values = tuple[Value, ...] | range

#: Maximum number of declared groups that are listed, or drawn one by one.
MAX_GROUPS = 20_000_000

#: Maximum number of declared groups that are every combination of values.
MAX_COMBINED_GROUPS = 1_000_000_000


class Rest(str):
    """The type of :data:`REST`: a label for people, distinct from a declared text of the same letters."""

    __slots__ = ()


#: All values of a column that are not declared, missing ones too unless NULL is declared: one more group, the last.
REST = Rest("(all others)")


def has_rest(values: Sequence[object]) -> bool:
    """Return whether all other values of a column are a group too.

    >>> has_rest(domain_values("sex", "Female,Male,*")), has_rest(("Female", "Male"))
    (True, False)
    """
    return bool(values) and isinstance(values[-1], Rest)


def listed_values(values: Values) -> Values:
    """Return the values of a column that are declared one by one, without the rest."""
    return values[:-1] if has_rest(values) else values


#: A whole number as it is written without loss; 007 is not one.
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def split_domain(text: str, argument: str = "domain") -> tuple[str, str]:
    """Return the column of a domain (or of bands) and its values, both still as text."""
    example = "site=1..6" if argument == "domain" else "age=18,30,65"
    if not isinstance(text, str):
        raise WrongType.must_be(argument, f"a text such as {example}", InWords(type(text).__name__))
    if match := re.fullmatch(r'\s*"((?:[^"]|"")+)"\s*=(.*)', text, re.DOTALL):
        return match[1].replace('""', '"'), match[2]
    name, equals, body = text.partition("=")
    if not equals or not name.strip():
        raise InvalidInput.must_be(argument, f"column=values, such as {example}", text[:60])
    return name.strip(), body


def domain_values(column: str, body: str) -> Values:
    """Return the values that the right side of a domain stands for: a range, a list, or the lines of a file.

    A ``*`` without quotes, in a list or behind a file (``@FILE,*``), adds :data:`REST` as the last value.

    >>> domain_values("site", "1..3,*")
    (1, 2, 3, '(all others)')
    """
    from_file = body.strip().startswith("@")
    if not from_file:
        _question_brackets(column, body.strip())
    items = [] if from_file else _items(body, column)
    stars = int(body.strip().endswith(",*")) if from_file else items.count(("*", True))
    if not stars or len(items) == 1:
        return _listed_values(column, body, items)
    if stars > 1:
        raise InvalidInput(f"the domain of {column!r} has * twice.", "Write it once.", argument="domain")
    others = [item for item in items if item != ("*", True)]
    return (*_listed_values(column, body.strip().removesuffix(",*") if from_file else body, others), REST)


def _listed_values(column: str, body: str, items: list[tuple[str, bool]]) -> Values:
    if not items:
        lines = [line.strip() for line in read_text_file(body.strip()[1:]).splitlines()]
        items = [_item(line, column) for line in lines if line]
        if len(items) == 1 and items[0][1] and re.search(r"[,;|]", items[0][0]):
            raise InvalidInput(
                f"{body.strip()[1:]} has one line with several values of {column!r}.",
                "Write one value on each line, or put the line in quotes if it is one value.",
                argument="domain",
            )
    else:
        question_convention(column, items)
        spans = [re.fullmatch(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})", text) for text, bare in items if bare]
        if any(spans):
            return _spans(items, column)
    if all(bare for _, bare in items):
        return tuple(parse_whole([None if text == "NULL" else text for text, _ in items]))
    return tuple(None if bare and text == "NULL" else text for text, bare in items)


#: Patterns of values without quotes that mean something elsewhere -> the meaning, and what to write here.
_OTHER_CONVENTIONS: tuple[tuple[str, str, str], ...] = (
    (
        r"-?[0-9]+\s*(\.\.+|…|[-:–—]|\bto\b|\bbis\b)\s*-?[0-9]+\s*(:|/|\.\.+|,|\bstep\b|\bby\b)\s*-?[0-9]+",
        "a range with a step",
        "Ranges have no step here: write the numbers, such as 17,27,37",
    ),
    (
        r"-?[0-9]+\s*(\.\.+|…|[-:–—]|\bto\b)\s*-?[0-9]+|-?[0-9]+\s*(\.\.+|…)|(\.\.+|…)\s*-?[0-9]+|range\(.*",
        "a range",
        "Write 1..6 for the numbers from 1 to 6",
    ),
    (r"\S+\s*\.\.+\s*\S+", "a range of texts", "Texts have no ranges here: list them, such as a,b,c"),
    (
        r".*\*.*|\.\.\.|…",
        "a pattern for all values",
        "Values never come from the data: list them, and * after them for all others, such as a,b,c,*",
    ),
    (r".+;.*|;.*", "a list with semicolons", "Separate values by commas, such as a,b,c"),
    (r".+\|.*|\|.*", "a list with bars", "Separate values by commas, such as a,b,c"),
    (r"-?[0-9]+(\s+-?[0-9]+)+", "a list with blanks", "Separate values by commas, such as 1,2,3"),
    (r"@.+", "a file of values", "A file stands alone: column=@FILE, with one value on each line"),
    (r"null|Null|None|nan|NaN|<NA>|<null>", "the missing value", "Write NULL for the rows without a value"),
)

#: The same for a value that is the only one.
_WORDS_FOR_ALL: tuple[tuple[str, str, str], ...] = (
    (
        r"(?i)\?|auto|automatic|all|any|every|each|values|unique|distinct|from[ _]data|default",
        "a word for all values in the data",
        "Values never come from the data: list them, such as a,b,c",
    ),
    (r"(?i).+\.(txt|csv|tsv|json|parquet)", "a file of values", "Write column=@FILE, with one value on each line"),
)


def question_convention(column: str, items: Sequence[tuple[str, bool]]) -> None:
    """Refuse a value that looks like another program's way to declare several: it would count nobody, at full price.

    Such a value can still be declared in quotes, or (a list in quotes) in a file of values, which is taken literally.

    >>> question_convention("age", [("17..90:10", True)])
    Traceback (most recent call last):
    discreet.errors.InvalidInput: the domain of 'age' has '17..90:10', which looks like a range with a step. Ranges ...
    """
    for text, bare in items:
        known = _OTHER_CONVENTIONS + (_WORDS_FOR_ALL if len(items) == 1 else ())
        for pattern, what, instead in known if bare else ():
            if re.fullmatch(pattern, text) and not re.fullmatch(r"-?[0-9]{1,18}\.\.-?[0-9]{1,18}", text):
                raise InvalidInput(
                    f"the domain of {column!r} has {text[:60]!r}, which looks like {what}.",
                    f"{instead}; or '{text[:60]}' in quotes if it is one value.",
                    argument="domain",
                )
    first, bare = items[0]
    if len(items) == 1 and not bare and re.search(r"\S[,;|]\S", first):
        raise InvalidInput(
            f"the domain of {column!r} is one text in quotes, {first[:60]!r}, which looks like a list.",
            f"Write {column}=a,b,c without quotes around the whole; or put it into a file of values (@FILE) if it is "
            "one.",
            argument="domain",
        )


def _question_brackets(column: str, body: str) -> None:
    """Refuse a domain that is written as a list of another language."""
    if body[:1] + body[-1:] in ("[]", "()", "{}"):
        raise InvalidInput(
            f"the domain of {column!r} is in brackets, as lists are elsewhere.",
            f"Write {column}=a,b,c without them; or put each value in quotes if the brackets belong to it.",
            argument="domain",
        )


def blanks_removed(body: str, column: str) -> bool:
    """Return whether blanks around values without quotes were ignored as layout."""
    if body.strip().startswith("@"):
        return False
    pieces = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", body).split(",")
    return len(pieces) > 1 and any(piece.strip() and piece != piece.strip() for piece in pieces)


def _items(body: str, column: str) -> list[tuple[str, bool]]:
    """Return the values between the commas, and whether each stands without quotes."""
    items, place = [], 0
    pattern = re.compile(r"\s*('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[^,]*?)\s*(,|$)")
    while True:
        match = pattern.match(body, place)
        assert match is not None  # the last alternative matches whatever stands before a comma or the end
        items.append(_item(match[1], column))
        if not match[2]:
            return items
        place = match.end()


def _item(text: str, column: str) -> tuple[str, bool]:
    for quote in "'\"":
        if re.fullmatch(f"{quote}(?:[^{quote}]|{quote}{quote})*{quote}", text, re.DOTALL):
            return text[1:-1].replace(quote * 2, quote), False
    if not text:
        raise InvalidInput(
            f"the domain of {column!r} has an empty value.", "Write '' for the empty text.", argument="domain"
        )
    if text[0] in "'\"":
        raise InvalidInput(
            f"the domain of {column!r} has a quote that is not closed.",
            "Write a quote in a text twice.",
            argument="domain",
        )
    return text, True


def _spans(items: list[tuple[str, bool]], column: str) -> Values:
    """Read whole numbers and ranges of them."""
    spans = []
    for text, bare in items:
        match = re.fullmatch(r"(-?[0-9]{1,18})(?:\.\.(-?[0-9]{1,18}))?", text)
        if not bare or (match is None and text != "NULL"):
            raise InvalidInput(
                f"the domain of {column!r} mixes a range with texts.",
                "Write a range of numbers alone.",
                argument="domain",
            )
        spans.append(None if match is None else range(int(match[1]), int(match[2] or match[1]) + 1))
    if any(span is not None and not span for span in spans):
        raise InvalidInput(
            f"the domain of {column!r} has a range that ends before it begins.", "Write it as 1..6.", argument="domain"
        )
    if len(spans) == 1 and spans[0] is not None:
        return spans[0]
    if sum(1 if span is None else len(span) for span in spans) > MAX_GROUPS:
        raise InvalidInput(
            f"the domain of {column!r} has too many values.", f"Declare at most {MAX_GROUPS}.", argument="domain"
        )
    return tuple(value for span in spans for value in ((None,) if span is None else span))


def parse_whole(values: list[Value]) -> list[Value]:
    """Read texts as whole numbers, if all are written so (007 is not: as a number it would lose its zeros)."""
    known = [value for value in values if isinstance(value, str)]
    if known and all(INTEGER.fullmatch(text) and abs(int(text)) <= LARGEST_WHOLE for text in known):
        return [int(value) if isinstance(value, str) else value for value in values]
    return values


def read_table(path: str | Path) -> tuple[list[str], list[Sequence[Value]], int]:
    """Return the heading of a CSV file, its columns and how many rows they have; NULL is None."""
    return read_table_text(read_text_file(path), str(path))


def read_table_text(text: str, path: str) -> tuple[list[str], list[Sequence[Value]], int]:
    """Return the same of the text of a CSV file; ``path`` is its name, for messages."""
    delimiter = "\t" if path.lower().endswith(".tsv") else ","
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    texts: list[list[str]] = []
    try:
        heading = [name.strip() for name in next(rows, [])]
        texts = [[] for _ in heading]
        # in pieces: a million small lists at once would keep the garbage collector busy for most of the time
        while piece := list(islice(rows, 10_000)):
            piece = [row for row in piece if row]
            if set(map(len, piece)) - {len(heading)}:
                number = len(texts[0]) + next(k for k, row in enumerate(piece, 1) if len(row) != len(heading))
                raise UnreadableFile(f"{path}, row {number} does not have {len(heading)} values, one for each column.")
            for place, column in enumerate(texts):
                column.extend(map(itemgetter(place), piece))
    except csv.Error as problem:
        raise UnreadableFile(f"{path} is not a CSV file: {problem}.") from None
    if not heading:
        raise UnreadableFile(f"{path} is empty; its first line names the columns.")
    columns: list[Sequence[Value]] = []
    for name, column in zip(heading, texts, strict=True):
        null_or_value: dict[str, Value] = {value: value for value in column}
        if any(value != value.strip() for value in null_or_value):
            raise UnreadableFile(f"{path} has a value with blanks around it in column {name!r}.", "Remove them.")
        if "NULL" in null_or_value:
            null_or_value["NULL"] = None
            columns.append(list(map(null_or_value.__getitem__, column)))
        else:
            columns.append(column)
    return heading, columns, len(texts[0])


def values_as_range(values: Values) -> dict[str, list[int]] | None:
    """Return whole numbers at equal steps as the first, the last and the step; None for other values."""
    numbers = [value for value in values if type(value) is int] if isinstance(values, tuple) else values
    if not numbers or len(numbers) < len(values):
        return None
    first, last = numbers[0], numbers[-1]
    step = 1 if len(numbers) == 1 else numbers[1] - first
    if isinstance(values, tuple) and (not step or list(range(first, first + step * len(values), step)) != numbers):
        return None
    return {"range": [first, last, step]}


def read_values(entry: object) -> Values:
    """Read the values of a column from JSON."""
    if isinstance(entry, Mapping):
        first, last, step = entry["range"]
        if not all(type(number) is int for number in (first, last, step)) or set(entry) != {"range"}:
            raise TypeError
        return range(first, last + (1 if step > 0 else -1), step)
    if not isinstance(entry, list):
        raise TypeError
    return tuple(entry)
