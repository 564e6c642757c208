"""Whether columns suit what a question compares them with, by their types alone. No row is read.

A column is read as the type of the literal it meets, and what cannot be read so is NULL (see ``conditions``). A text
column that is compared with a number may therefore count nobody, at full price; a column of dates that is compared
with a number always does. The plan notes the first; the second is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from ..errors import InvalidInput
from ..wording import first_of
from .conditions import Condition, piece
from .expressions import FLIPPED, Compare, Literal, Member, Test, atoms
from .question import Question

#: The types of literals and the kinds of columns in words.
_LITERAL_IN_WORDS = {"DOUBLE": "a number", "DATE": "a date", "TIMESTAMP": "a moment", "BOOLEAN": "a truth value"}
_LITERALS_IN_WORDS = {"DOUBLE": "numbers", "DATE": "dates", "TIMESTAMP": "moments", "BOOLEAN": "truth values"}
_KIND_IN_WORDS = {
    "integer": "numbers",
    "number": "numbers",
    "boolean": "truth values",
    "date": "dates",
    "timestamp": "moments",
}

#: Kinds of columns no value of which can be read as a literal's type, and what to write instead.
_NEVER_EQUAL = {
    "DOUBLE": ({"date", "timestamp"}, "Write a date, such as DATE '2020-01-31'."),
    "BOOLEAN": ({"date", "timestamp"}, "Write a date, such as DATE '2020-01-31'."),
    "DATE": ({"integer", "number", "boolean"}, "Write a number."),
    "TIMESTAMP": ({"integer", "number", "boolean"}, "Write a number."),
}


#: What the text of a stored value looks like; a text that does not equals none.
_TEXT_FORMS = {
    "integer": (r"0|-?[1-9][0-9]*", "n = 5"),
    "date": (r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}( \(BC\))?|-?infinity", "d = DATE '2020-01-31'"),
    "timestamp": (
        r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}( \(BC\))? [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?( \(BC\))?|-?infinity",
        "t = TIMESTAMP '2020-01-31 13:45:00'",
    ),
}


def _refuse_other_texts(test: Compare | Member, column: str, kind: str, text: str) -> None:
    """Refuse a comparison of stored numbers, dates or moments with a text that none of them is written as.

    A number such as 5 is written 5.0 or 5 or 5e0 by its type, so a text is not compared with one at all.
    """
    if kind == "number":
        raise InvalidInput(
            f"{column!r} holds numbers, and {text} compares it with a text, letter by letter: 5 may be written 5.0.",
            f"Leave the quotes out, or write TRY_CAST({column} AS VARCHAR) if you mean the text.",
        )
    literals = test.literals if isinstance(test, Member) else (test.right,)
    equal = isinstance(test, Member) or test.op in ("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
    if not equal or kind not in _TEXT_FORMS:
        return
    pattern, instead = _TEXT_FORMS[kind]
    if any(isinstance(one, Literal) and not re.fullmatch(pattern, str(one.value)) for one in literals):
        raise InvalidInput(
            f"{column!r} holds {_KIND_IN_WORDS[kind]}, and {text} compares it with a text of another form: no row "
            "can equal it.",
            f"Write it as in {instead}.",
        )


def reading_notes(question: Question, kinds: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a person should know about how a question reads the columns of its table, of which each has a kind.

    Raises
    ------
    InvalidInput
        If a comparison cannot hold for any row.

    Examples
    --------
    >>> from .question import read_question
    >>> question = read_question("SELECT COUNT(*) FROM visits WHERE age > 64", unit="row")
    >>> print(*reading_notes(question, {"age": "text"}))
    age is stored as text; values that are not numbers are ignored by age > 64. To compare texts, ...
    >>> reading_notes(question, {"age": "integer"})
    ()
    """
    cases = [condition for lookup in question.lookups for condition in lookup.conditions]
    conditions = [question.where, *(count.condition for count in question.aggregates), *cases]
    notes = (note for condition in conditions if condition is not None for note in _of_condition(condition, kinds))
    return tuple(dict.fromkeys(notes))


def undeclared_notes(question: Question, declared: Callable[[str], Collection[object] | None]) -> tuple[str, ...]:
    """Return notes on constants that are not among the declared values of the column they are compared with.

    ``declared`` is a function of a column: its values, or None where not all of them are declared.

    Examples
    --------
    >>> from .question import read_question
    >>> question = read_question("SELECT COUNT(*) FROM visits WHERE health = 'bad' AND age = 7", unit="row")
    >>> print(*undeclared_notes(question, {"health": ["good", "poor"]}.get))
    health = 'bad' compares with 'bad', which is not among the declared values of health: good, poor.
    """
    conditions = [question.where, *(count.condition for count in question.aggregates)]
    tests = (test for condition in conditions if condition is not None for test in atoms(condition.test))
    return tuple(dict.fromkeys(note for test in tests for note in _of_undeclared(question, test, declared)))


def _of_undeclared(
    question: Question, test: Test, declared: Callable[[str], Collection[object] | None]
) -> Iterator[str]:
    if not isinstance(test, Member) and not (isinstance(test, Compare) and test.op in ("=", "<>")):
        return
    column = test.left.column
    values = None if test.left.function or column in question.looked_up else declared(column)
    if values is None:
        return
    texts = {str(value) for value in values}
    for literal in test.literals if isinstance(test, Member) else (test.right,):
        if isinstance(literal, Literal) and literal.type in ("VARCHAR", "DOUBLE") and str(literal.value) not in texts:
            known = first_of([str(value) for value in values if value is not None], 6)
            yield (
                f"{piece(test.text)[1:-1]} compares with {literal.text}, which is not among the declared values of "
                f"{column}: {known}."
            )


def _of_condition(condition: Condition, kinds: Mapping[str, str]) -> Iterator[str]:
    noted = set()
    for test in atoms(condition.test):
        if not isinstance(test, Compare | Member) or test.left.function not in ("", "COALESCE"):
            continue  # LOWER, UPPER, TRIM and TRY_CAST say how the column is to be read
        literal = test.literals[0] if isinstance(test, Member) else test.right
        column, kind = test.left.column, kinds.get(test.left.column, "other")
        if not isinstance(literal, Literal):
            continue
        note = _of_test(test, literal, column, kind)  # which refuses what no row can meet, whatever was said before
        if note is not None and (column, literal.type) not in noted:
            noted.add((column, literal.type))
            yield note


def _of_test(test: Compare | Member, literal: Literal, column: str, kind: str) -> str | None:
    text = piece(test.text)[1:-1]
    never, instead = _NEVER_EQUAL.get(literal.type, ((), ""))
    if kind in never:
        raise InvalidInput(
            f"{column!r} holds {_KIND_IN_WORDS[kind]}, and {text} compares it with "
            f"{_LITERAL_IN_WORDS[literal.type]}: no row can match.",
            instead,
        )
    if literal.type != "VARCHAR":
        if kind != "text":
            return None
        return (
            f"{column} is stored as text; values that are not {_LITERALS_IN_WORDS[literal.type]} are ignored by {text}."
            f" To compare texts, write them in quotes, such as {column} = 'text'."
        )
    if not (isinstance(test, Compare) and "LIKE" in test.op):
        _refuse_other_texts(test, column, kind, text)
    by_size = isinstance(test, Compare) and test.op in FLIPPED
    like_a_number = re.fullmatch(r"\s*-?[0-9]+(\.[0-9]+)?\s*", str(literal.value)) is not None
    if by_size and like_a_number and kind in ("text", "integer", "number"):
        return f"{text} compares letter by letter, so that '9' comes after '10'; for numbers leave the quotes out."
    if kind == "integer" and not (isinstance(test, Compare) and "LIKE" in test.op):
        return f"{text} compares texts, though {column!r} holds numbers; leave the quotes out to compare numbers."
    if kind == "boolean" and not (isinstance(test, Compare) and "LIKE" in test.op):
        return f"{text} compares the texts 'true' and 'false'; for truth values write {column} = TRUE."
    return None
