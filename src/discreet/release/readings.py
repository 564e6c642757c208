"""Whether columns suit what a question compares them with, by their types alone. No row is read.

A column is read as the type of the literal it meets, and what cannot be read so is NULL (see ``conditions``). A text
column that is compared with a number may therefore count nobody, at full price; a column of dates that is compared
with a number surely does. The first is said with the plan, the second is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..errors import InvalidInput
from .conditions import Condition, shown
from .expressions import FLIPPED, Compare, Literal, Member, atoms
from .question import Question

#: The types of literals and the kinds of columns in words.
_READ_AS = {"DOUBLE": "a number", "DATE": "a date", "TIMESTAMP": "a moment", "BOOLEAN": "a truth value"}
_HOLDS = {"integer": "numbers", "number": "numbers", "boolean": "truth values", "date": "dates", "timestamp": "moments"}

#: Kinds of columns no value of which can be read as a literal's type, and what to write instead.
_NEVER = {
    "DOUBLE": ({"date", "timestamp"}, "Write a date, such as DATE '2020-01-31'."),
    "BOOLEAN": ({"date", "timestamp"}, "Write a date, such as DATE '2020-01-31'."),
    "DATE": ({"integer", "number", "boolean"}, "Write a number."),
    "TIMESTAMP": ({"integer", "number", "boolean"}, "Write a number."),
}


def reading_notes(question: Question, kinds: Mapping[str, str]) -> tuple[str, ...]:
    """What a person should know about how a question reads the columns of its table, of which each has a kind.

    Raises
    ------
    InvalidInput
        When a comparison cannot hold for any row.

    Examples
    --------
    >>> from .question import read_question
    >>> question = read_question("SELECT COUNT(*) FROM visits WHERE age > 64", unit="row")
    >>> print(*reading_notes(question, {"age": "text"}))
    age > 64 reads age, which is text here, as a number: where it is none it counts as missing. To compare texts, ...
    >>> reading_notes(question, {"age": "integer"})
    ()
    """
    conditions = [question.where, *(count.condition for count in question.aggregates)]
    notes = (note for condition in conditions if condition is not None for note in _of_condition(condition, kinds))
    return tuple(dict.fromkeys(notes))


def _of_condition(condition: Condition, kinds: Mapping[str, str]) -> Iterator[str]:
    told = set()
    for test in atoms(condition.test):
        if not isinstance(test, Compare | Member) or test.left.function not in ("", "COALESCE"):
            continue  # LOWER, UPPER, TRIM and TRY_CAST say how the column is to be read
        literal = test.literals[0] if isinstance(test, Member) else test.right
        column, kind = test.left.column, kinds.get(test.left.column, "other")
        if not isinstance(literal, Literal) or (column, literal.type) in told:
            continue
        note = _of_test(test, literal, column, kind)
        if note is not None:
            told.add((column, literal.type))
            yield note


def _of_test(test: Compare | Member, literal: Literal, column: str, kind: str) -> str | None:
    text = shown(test.text)[1:-1]
    never, instead = _NEVER.get(literal.type, ((), ""))
    if kind in never:
        raise InvalidInput(
            f"{column!r} holds {_HOLDS[kind]}, and {text} compares it with {_READ_AS[literal.type]}: no row can match. "
            f"{instead}"
        )
    if literal.type != "VARCHAR":
        if kind != "text":
            return None
        return (
            f"{text} reads {column}, which is text here, as {_READ_AS[literal.type]}: where it is none it counts as "
            f"missing. To compare texts, write them in quotes, such as {column} = 'text'."
        )
    by_size = isinstance(test, Compare) and test.op in FLIPPED
    like_a_number = re.fullmatch(r"\s*-?[0-9]+(\.[0-9]+)?\s*", str(literal.value)) is not None
    if by_size and like_a_number and kind in ("text", "integer", "number"):
        return f"{text} compares letter by letter, so that '9' comes after '10'; for numbers leave the quotes out."
    if kind == "boolean" and not (isinstance(test, Compare) and "LIKE" in test.op):
        return f"{text} compares the texts 'true' and 'false'; for truth values write {column} = TRUE."
    return None
