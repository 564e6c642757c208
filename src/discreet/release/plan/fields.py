"""The fields of a request: what people read of each (help, comment, title, schema), and how values are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ...errors import DiscreetError, InvalidInput, InWords, Writer, WrongType, arg, named, write_mentions
from ...exact.integers import is_integer
from ...exact.rationals import Number, as_fraction
from ...lists import is_list, read_list
from ...mechanism import Mechanism
from ...privacy.relations import RELATIONS
from ...ptables.table import PTable
from ...questions.question import QuantileRequest
from ...report import Json
from ...wording import find_name
from ..levels.quantiles import read_share
from ..levels.shape import SPLITS_IN_WORDS
from ..noise.cells import cell_mechanism


@dataclass(frozen=True)
class FieldWords:
    """The words for a field in help, files, forms and the schema. No other module writes them.

    Attributes
    ----------
    title
        Its title in a form.
    help
        The sentence of the command line's help and of the schema, or a function that returns it. It mentions other
        fields by :func:`~.errors.arg`.
    schema
        The JSON schema of its values in a request file; with its own description where the sentence of help covers more
        than a request file can say.
    comment
        The comment over it in a request file; empty where the comment before it covers this field too.
    """

    title: str
    help: str | Callable[[], str]
    schema: Mapping[str, Json]
    comment: str = ""

    def help_text(self, write: Writer) -> str:
        """Return the sentence of help; ``write`` renders the fields that it mentions."""
        return write_mentions(self.help if isinstance(self.help, str) else self.help(), write)


def field_words(
    title: str, help: str | Callable[[], str], schema: Mapping[str, Json], comment: str = ""
) -> dict[str, FieldWords]:
    """Return the metadata of a field."""
    return {"words": FieldWords(title, help, schema, comment)}


TEXT: dict[str, Json] = {"type": "string"}
WHOLE: dict[str, Json] = {"type": "integer"}
_FILE: dict[str, Json] = {"type": "string", "description": "A CSV file, relative to the request file."}
ROWS: dict[str, Json] = {"anyOf": [_FILE, {"type": "array"}]}
_EXACT: dict[str, Json] = {"type": "string", "description": "A decimal, or a fraction such as 1/3."}
NUMBER: dict[str, Json] = {"anyOf": [{"type": "number"}, _EXACT]}
TEXTS: dict[str, Json] = {"type": "array", "items": TEXT}
NAMES: dict[str, Json] = {"anyOf": [TEXT, TEXTS]}
BY_COLUMN: dict[str, Json] = {
    "type": "object",
    "additionalProperties": {"anyOf": [TEXT, {"type": "array", "items": {"type": ["string", "integer"]}}]},
}

#: Addresses in a request file; every run may replace them.
LOCATIONS: dict[str, FieldWords] = {
    "data": FieldWords(
        "Data",
        "The table: .csv, .tsv (.gz), .parquet or .duckdb, or the address of a database. Its name is the file's stem. "
        "Required, unless a dataset or a request file says it.",
        TEXT | {"description": "The table: a file, or the address of a database without a password."},
        "The table, relative to this file, or the address of a database. It never contains a password.",
    ),
    "ledger": FieldWords(
        "Ledger that pays",
        "The ledger that pays; made by: discreet ledger init.",
        TEXT,
        "The ledger that pays.",
    ),
    "out": FieldWords(
        "Name of the bundle", "The folder to write the bundle into.", TEXT, "The folder that the bundle is written to."
    ),
}


# ------------------------------------------------------------------------------------------------ reading


def read_questions(questions: str | Sequence[str]) -> tuple[str, ...]:
    """Read one SQL text or several as a tuple."""
    texts = [questions] if isinstance(questions, str) else read_list(questions, "questions", "questions")
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidInput("give the question as SQL text, or a list of several.", argument="questions")
    return tuple(texts)


def read_split(split: str | Sequence[Number]) -> str | tuple[Number, ...]:
    """Read the parts of a split, or what it makes small."""
    if isinstance(split, str):
        if split not in SPLITS_IN_WORDS:
            raise InvalidInput.must_be("split", f"parts such as [2, 1], or one of {', '.join(SPLITS_IN_WORDS)}", split)
        return split
    return tuple(read_list(split, "split", "numbers"))


def read_declared(name: str, declared: object) -> object:
    """Refuse what is neither a mapping by column, nor a text or a list of texts or rows; return it as it is."""
    if not isinstance(declared, Mapping | str | Path) and not is_list(declared):
        read_list(declared, name, "texts such as 'site=1..6'" if name == "domain" else "rows")
    return declared


def read_totals(totals: object) -> tuple[str, ...]:
    """Read names of columns: a list, or a text with commas."""
    names = totals.split(",") if isinstance(totals, str) else totals
    if (
        not isinstance(names, Sequence)
        or not names
        or not all(isinstance(name, str) and name.strip() for name in names)
    ):
        raise InvalidInput.must_be("totals", "columns of GROUP BY, such as sex,age, or all", totals)
    return tuple(name.strip() for name in names)


def read_mechanism(mechanism: str | Mechanism | PTable) -> str | Mechanism:
    """Return a mechanism; a name is checked, and a p-table becomes a mechanism."""
    if getattr(mechanism, "composes", True) is False:
        raise InvalidInput(
            f"this cannot be priced: {getattr(mechanism, 'why', 'it does not compose')}.", argument="mechanism"
        )
    if isinstance(mechanism, PTable):
        return mechanism.mechanism()
    return cell_mechanism(mechanism) if isinstance(mechanism, str) else mechanism


def read_suppression(value: object) -> int:
    """Read the count below which counts are withheld."""
    if not is_integer(value):
        raise InvalidInput.must_be("suppress_below", "a whole number", value)
    return int(value)  # type: ignore[call-overload,no-any-return]


def read_delta(delta: Number) -> Fraction:
    """Read a delta."""
    value = as_fraction(delta, "delta")
    if not 0 <= value < 1:
        raise InvalidInput.must_be("delta", "a probability, far below one over the number of people", delta)
    return value


def read_columns(discover: str | Sequence[str] | None) -> tuple[str, ...]:
    """Read the columns to discover: a text with commas, or a list of names."""
    names = discover.split(",") if isinstance(discover, str) else () if discover is None else discover
    if not isinstance(names, Sequence) or not all(isinstance(name, str) and name.strip() for name in names):
        raise WrongType.must_be("discover", "names of GROUP BY columns, such as job", discover)
    return tuple(name.strip() for name in names)


def read_edition(edition: object) -> str:
    """Read the name of an edition."""
    if not isinstance(edition, str) or len(edition) > 200 or not edition.isprintable():
        raise InvalidInput(
            f"{named('edition')} is a short name for the state of the data, of printable characters: 2026-11."
        )
    return edition


def read_quantiles(texts: object) -> tuple[QuantileRequest, ...]:
    """Read quantiles from texts, ``"age:0.5"`` or a list of them, or from pairs; without a share it is the median.

    >>> read_quantiles(["age:0.25", ("age", "1/2"), "income"])
    (('age', Fraction(1, 4)), ('age', Fraction(1, 2)), ('income', Fraction(1, 2)))
    """
    items = [texts] if isinstance(texts, str) else texts
    if not isinstance(items, Sequence):
        raise InvalidInput.must_be("quantile", "a column and a share, such as age:0.5", texts)
    return tuple(dict.fromkeys(_read_quantile(one) for one in items))


def _read_quantile(item: object) -> QuantileRequest:
    """Read one quantile, a text or a pair."""
    column, share = item.rpartition(":")[::2] if isinstance(item, str) and ":" in item else (item, "1/2")
    if isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2:
        column, share = item
    if isinstance(column, str) and column.strip():
        try:
            return column.strip(), read_share(share)
        except DiscreetError:
            pass
    raise InvalidInput.must_be("quantile", "a column and a share between 0 and 1, such as age:0.5", item)


def read_relation(name: str | None, sizes: object) -> str:
    """Return the neighbour relation, by default that of the sizes; refuse one that public sizes contradict."""
    relation = None if not name else find_name(name, RELATIONS, "a neighbour relation", argument="relation")
    if sizes is not None and relation is not None and RELATIONS[relation].hides_presence:
        raise InvalidInput(
            "with public sizes the relation is substitution: the number of units in each group is known, so nobody "
            "can join or leave unseen.",
            f"Leave {arg('relation')} out, or {arg('sizes')}",
        )
    return relation or ("add-remove" if sizes is None else "substitution")


def read_shares(split: str | Sequence[Number] | None, number: int) -> str | tuple[Fraction, ...]:
    """Return the part of epsilon of each question, or of each level of a single one; they add up to 1.

    The name of what a split makes small stays as it is.
    """
    if isinstance(split, str):
        return split
    if not split:
        return (Fraction(1, number),) * number
    parts = [as_fraction(part, "a part of the split") for part in split]
    if len(parts) != number or min(parts) <= 0:
        raise InvalidInput.must_be(
            "split", f"as many positive numbers as there are questions, {number}", InWords(", ".join(map(str, split)))
        )
    return tuple(part / sum(parts) for part in parts)
