"""The request of a release: one object for Python's keywords, the command line and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, TypedDict, Unpack

from ...datasets.publication import LABELS, read_publication_text
from ...errors import InvalidInput, WrongType, arg
from ...exact.rationals import Number, read_epsilon
from ...losses import Loss
from ...mechanism import Mechanism
from ...optimise.families import FAMILIES
from ...periods import Per
from ...ptables.table import PTable
from ...questions.question import QuantileRequest
from ...unit import read_unit_name
from ...wording import find_name
from ..noise.accuracy import read_level
from ..noise.cells import OUTPUTS
from ..protection import WHOSE, read_max_rows
from ..tables.margins.wanted import read_tables
from .fields import (
    BY_COLUMN,
    NAMES,
    NUMBER,
    ROWS,
    TEXT,
    TEXTS,
    WHOLE,
    FieldWords,
    field_words,
    read_columns,
    read_declared,
    read_delta,
    read_edition,
    read_mechanism,
    read_quantiles,
    read_questions,
    read_relation,
    read_shares,
    read_split,
    read_suppression,
    read_totals,
)

#: Values of group columns: by name, or as text ("site=1..6"). They are checked against the question later.
Domain: TypeAlias = Mapping[str, Any] | Sequence[str]

#: A file of groups, or rows of groups from the calling program.
Rows: TypeAlias = Any


class RequestFields(TypedDict, total=False):
    """The keywords of a request; :class:`ReleaseRequest` describes each."""

    dataset: str | None
    edition: str
    unit: str
    unit_name: str | None
    per: str | Per | None
    max_groups: int | None
    max_rows: int | None
    relation: str | None
    epsilon: Number | None
    delta: Number
    error: int | None
    mechanism: str | Mechanism | PTable
    properties: str | Sequence[Any] | None
    loss: str | Loss | None
    counts: str | None
    bound: int | None
    sizes: Rows
    split: Sequence[Number] | None
    suppress_below: int | None
    level: Number
    groups: Rows
    zeros: Rows
    totals: str | Sequence[str] | None
    quantile: str | Sequence[str | QuantileRequest]
    tables: int | str | Sequence[object] | Mapping[str, object] | None
    bands: Domain | None
    discover: str | Sequence[str] | None
    one_row_each: bool
    title: str
    publisher: str
    source: str
    contact: str
    domain: Domain | None


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest:
    """The request of a release. Making one checks every number and every name, and reads no data.

    Attributes
    ----------
    questions
        SQL: one table, WHERE, GROUP BY, COUNT(*), COUNT(DISTINCT unit), COUNT_IF(condition). Several questions make one
        release, whose epsilon is split among them.
    unit
        ``"row"``, or the column that says whose row it is.
    unit_name
        The noun for the unit in texts: ``"person"``, ``"household"``, ``"device"``; by default the name of its column.
        With ``unit="row"`` it is your statement, published as such, that every row is a different one. The ledger
        keeps the name of its first release.
    per
        A granularity and a date column, ``"month:visit_date"``: the unit is one month of one person. A row's month
        follows from its own date alone; rows without one are not counted. Granularities are day, week (ISO 8601),
        month, quarter and year. The ledger has the same granularity, and an account for each period.
    domain
        The values of each group column, ``{"site": range(1, 7), "health": ["good", "poor"]}``: the groups are their
        cross product. They are public and never taken from the data. ``None`` among the values stands for missing ones,
        ``...`` (in texts ``*``) as the last for all others.
    bands
        The edges of group columns that are counted in bands, ``{"age": [18, 30, 45, 65]}`` or
        ``{"visit": "month:2024-01..2025-12"}``, closed on the left. A text is what ``--bands`` takes.
    groups
        Instead of ``domain``: the groups themselves, a CSV file or a list of rows.
    zeros
        Structural zeros: groups that cannot exist, a CSV file or a list of rows.
    discover
        Group columns whose values are discovered in the data, not declared: ``"job"`` or ``["job", "town"]``. A group
        is named only if its noisy count passes a threshold that follows from epsilon, ``delta`` (required) and
        ``max_groups``.
    one_row_each
        With ``discover`` and ``unit="row"``: your statement that each person has one row.
    epsilon, delta
        The privacy of the whole release, per unit. Leave ``epsilon`` out with ``error`` or a saved mechanism, from
        which it follows.
    error
        Instead of ``epsilon``: the largest error of a count, with probability ``level``.
    mechanism
        A name (such as geometric or discrete-gaussian; ``discreet release --help`` lists them), a mechanism, or a
        p-table, which is used with fresh keys. A mechanism with a delta costs epsilon and delta: those it states, or
        your ``epsilon`` with the delta that follows.
    properties, loss
        Instead of ``mechanism``: the best one that has these properties ("WH+CM"), for this loss ("L0" if not given),
        as :func:`discreet.design` finds it for the bound or for each size.
    counts
        ``"clamped"`` (never negative, the default without a bound), ``"signed"`` (unbiased) or ``"in-range"`` (between
        0 and the bound).
    bound, sizes
        The largest count, for all cells or (a CSV file with the group columns and ``size``) for each: public facts from
        outside the table. Larger counts are cut off as part of the mechanism. With ``sizes`` the relation is
        substitution.
    relation
        ``"add-remove"`` or ``"substitution"``; by default what ``sizes`` implies.
    max_groups
        Contribution bound: the maximum number of groups in which one unit is counted. It has no default where a unit
        can have rows in several groups. 1 counts each unit in one group only; the number of groups counts each unit in
        every group where it has rows.
    max_rows
        Count rows instead of units: the maximum number of rows of one unit that a count has in a group. ``COUNT(*)``
        without it counts each unit once.
    totals
        Columns to publish totals over as well, in every combination: ``["sex"]``, or ``"all"``. Like ROLLUP and CUBE in
        the question: contributions are bounded once, and all counts are combined so that they add up.
    quantile
        Quantiles to find in the counts, ``"age:0.5"`` for the median of age, or a list of them. The question then
        counts by that column too, in its bands, each unit in one group, and by default without clamping. Medians cost
        nothing beyond the counts.
    tables
        All tables at once: the largest number of columns of a table (``2`` for all tables of one and of two columns and
        the total), or the tables, ``["sex*age", "age*job=3"]``, with public weights of those that matter more. Each
        person is counted with one record, and all tables agree. With a delta the noise is discrete Gaussian.
    split
        For several questions: the parts of epsilon each gets, such as ``[2, 1]``; equal by default. For one question
        with totals: the parts of its levels, the finest first; by default chosen for a small largest error.
    suppress_below
        Withhold reported counts below this. Only the noisy count decides.
    level
        The coverage of the intervals, for any true counts.
    edition
        Your name for the state of the data. The same question for the same edition has one answer.
    title, publisher
        Your statements for readers, published as such. They do not belong to the question: the same question with
        another title has the same answer and costs nothing.
    source, contact
        Further statements: where the data comes from, and whom to ask.
    dataset
        The data set that these people belong to, where the file has another name, such as next quarter's: the same
        people have one budget. It needs an ``edition``, so that no file gets the recorded answer of another. A table in
        memory has no other name: there ``dataset`` is required and names the table in the question, and the edition may
        be left out.

    Examples
    --------
    >>> import discreet as dc
    >>> request = dc.ReleaseRequest(
    ...     questions=("SELECT COUNT(*) FROM visits",), unit="row", epsilon="0.1", counts="Signed"
    ... )
    >>> request.epsilon, request.counts, request.relation
    (Fraction(1, 10), 'signed', 'add-remove')
    """

    questions: tuple[str, ...] = field(
        metadata=field_words(
            "Questions",
            "SQL: SELECT groups, COUNT(*) FROM table WHERE ... GROUP BY groups. Or a request file that says "
            "everything: request.toml.",
            {
                "description": "SQL: one question, or several that share epsilon.",
                "anyOf": [TEXT, TEXTS | {"minItems": 1}],
            },
            "The questions, in SQL.",
        )
    )
    dataset: str | None = field(
        default=None,
        metadata=field_words(
            "Data set",
            "A dataset file: FILE.toml; by default the one in this folder that declares the table. Or the data set "
            f"these people belong to, where the file has another name; it needs {arg('edition')}.",
            TEXT
            | {
                "description": "A dataset file (.toml), relative to the request file, which declares the data, the "
                "unit and the ledger. Or the data set whose people these are, where the file has another name."
            },
            "The data set: the file that declares it, or its name.",
        ),
    )
    edition: str = field(
        default="", metadata=field_words("Edition", "Your name for the state of the data, such as 2026-11.", TEXT)
    )
    unit: str = field(
        metadata=field_words(
            "Who is protected",
            "Whose data is protected: row, or the column that names the person. Required, unless a dataset or a "
            "request file says it.",
            TEXT | {"description": "row, or the column that names the person."},
            "Whose data is protected: the column that names them, or row.",
        )
    )
    unit_name: str | None = field(
        default=None,
        metadata=field_words(
            "What one is called",
            f"What texts call it: person, household, device. With {arg('unit', 'row')}: every row is a different one.",
            TEXT,
            "What texts call it; of a row: every row is a different one.",
        ),
    )
    per: Per | None = field(
        default=None,
        metadata=field_words(
            "Period of the unit",
            "One period of each unit is protected, by a date column: month:visit_date; or day, week, quarter, year.",
            TEXT | {"description": "A granularity and a date column: month:visit_date protects each month by itself."},
            "One period of each unit is protected: a granularity and the date column.",
        ),
    )
    max_groups: int | None = field(
        default=None,
        metadata=field_words(
            "Groups per person",
            "In how many groups one person is counted at most. Required with a unit that is a person.",
            WHOLE,
            "Maximum number of groups in which one of them is counted.",
        ),
    )
    max_rows: int | None = field(
        default=None,
        metadata=field_words(
            "Rows per person",
            "Count rows, not people: how many rows of one person a count has in a group at most.",
            WHOLE,
            "Count rows, not people: maximum number of rows of one of them in a count.",
        ),
    )
    relation: str = field(
        default="",
        metadata=field_words("Neighbour relation", f"add-remove, or substitution (as {arg('sizes')} implies).", TEXT),
    )
    epsilon: Fraction | None = field(
        default=None,
        metadata=field_words(
            "Epsilon",
            "The privacy of the whole release, per unit.",
            NUMBER,
            "The privacy of the whole release, per unit; or the error that is allowed.",
        ),
    )
    delta: Fraction = field(
        default=Fraction(0), metadata=field_words("Delta", "The delta of the whole release, per unit.", NUMBER)
    )
    error: int | None = field(
        default=None,
        metadata=field_words(
            "Largest error",
            f"Instead of {arg('epsilon')}: how far off a count may be, with probability {arg('level')}.",
            WHOLE,
        ),
    )
    mechanism: str | Mechanism = field(
        default="geometric",
        metadata=field_words(
            "Noise",
            lambda: f"{', '.join(FAMILIES.cli_names('release'))}, or a file.",
            TEXT,
            "The noise, and the form of the counts.",
        ),
    )
    properties: str | Sequence[Any] | None = field(
        default=None,
        metadata=field_words(
            "Properties", f"Instead of {arg('mechanism')}: design the best one that has these, such as WH+CM.", NAMES
        ),
    )
    loss: str | Loss | None = field(
        default=None, metadata=field_words("Loss", "With a design: what to minimise, L0 (default), L1, L2.", TEXT)
    )
    counts: str | None = field(
        default=None,
        metadata=field_words(
            "Counts",
            "clamped (never negative, the default), signed (unbiased), or in-range (with a bound or sizes).",
            TEXT,
        ),
    )
    bound: int | None = field(
        default=None,
        metadata=field_words(
            "Largest count", "The largest count of any cell, a public fact.", WHOLE, "Public facts about the counts."
        ),
    )
    sizes: Rows = field(
        default=None,
        metadata=field_words(
            "Sizes of the groups", "Public sizes of the groups: a CSV file with the group columns and size.", ROWS
        ),
    )
    split: tuple[Fraction, ...] = field(
        default=(),
        metadata=field_words(
            "Parts of epsilon",
            "The parts of epsilon of several questions, or of the levels of one with totals: 2,1.",
            {"type": "array", "items": NUMBER},
            "The parts of epsilon of the questions.",
        ),
    )
    suppress_below: int | None = field(
        default=None,
        metadata=field_words(
            "Withhold below", "Withhold noisy counts below this.", WHOLE, "What is withheld, by the noisy count alone."
        ),
    )
    level: Fraction = field(
        default=Fraction(95, 100),
        metadata=field_words(
            "Coverage of intervals", "The coverage of the intervals.", NUMBER, "How often intervals cover."
        ),
    )
    groups: Rows = field(
        default=None,
        metadata=field_words(
            "Groups",
            f"Instead of {arg('domain')}: a CSV file with one row per public group.",
            ROWS,
            "The public groups, one row each; never taken from the data.",
        ),
    )
    zeros: Rows = field(
        default=None,
        metadata=field_words(
            "Groups that cannot exist",
            "Structural zeros: a CSV file of groups that cannot exist.",
            ROWS,
            "Groups that cannot exist.",
        ),
    )
    totals: tuple[str, ...] | None = field(
        default=None,
        metadata=field_words(
            "with totals that add up",
            "Publish totals over these columns too, in counts that add up: sex,age, or all.",
            NAMES,
            "Columns to publish totals over as well.",
        ),
    )
    quantile: tuple[QuantileRequest, ...] = field(
        default=(),
        metadata=field_words(
            "Medians and quantiles",
            "A quantile to find in the counts: age:0.5 is the median of age. It needs the bands of its column, and "
            "costs nothing beyond the counts.",
            NAMES,
            "Medians and other quantiles to find in the counts.",
        ),
    )
    tables: tuple[str, ...] | None = field(
        default=None,
        metadata=field_words(
            "All tables at once",
            "All tables of up to so many of the columns, such as 2, or a list of tables: sex,age*job=3, where 3 is "
            f"a public weight. They share epsilon and agree with each other; with {arg('delta')} they are the most "
            "accurate.",
            {"anyOf": [WHOLE, TEXT, TEXTS]},
            "Tables to publish at once, which agree with each other.",
        ),
    )
    bands: Domain | None = field(
        default=None,
        metadata=field_words(
            "Bands",
            "Edges of a group column that is counted in bands: age=18,30,65, visit=month:2024-01..2024-12.",
            {"anyOf": [BY_COLUMN, TEXTS, TEXT]},
            "Edges of the columns that are counted in bands.",
        ),
    )
    discover: tuple[str, ...] = field(
        default=(),
        metadata=field_words(
            "found in the data",
            "A group column whose values are found in the data; only groups whose noisy count passes are named. Needs "
            f"{arg('delta')}.",
            NAMES,
            "Columns whose values are found in the data, where enough people have them.",
        ),
    )
    one_row_each: bool = field(
        default=False,
        metadata=field_words(
            "each person has one row",
            f"With {arg('discover')} and {arg('unit', 'row')}: each person has one row.",
            {"type": "boolean"},
        ),
    )
    title: str = field(
        default="",
        metadata=field_words(
            "Title",
            "The title of the published page; by default what is counted.",
            TEXT,
            "Statements for readers; they change no count and cost nothing.",
        ),
    )
    publisher: str = field(default="", metadata=field_words("Publisher", "Who publishes, as readers see it.", TEXT))
    source: str = field(
        default="", metadata=field_words("Source", "Where the data comes from, such as a survey or a register.", TEXT)
    )
    contact: str = field(
        default="", metadata=field_words("Contact", "Whom readers can ask: a name, an address, a page.", TEXT)
    )
    domain: Domain | None = field(
        default=None,
        metadata=field_words(
            "Values",
            "Public values of a group column: site=1..6, health=good,poor, town=@towns.txt; * adds all others.",
            {"anyOf": [BY_COLUMN, TEXTS]},
            "The public values of each group column; never taken from the data.",
        ),
    )

    def __post_init__(self) -> None:
        for name, read in _READERS.items():
            value = getattr(self, name)
            if value is not None or name in ("discover", "questions", "quantile"):
                object.__setattr__(self, name, read(value))
        object.__setattr__(self, "relation", read_relation(self.relation, self.sizes))
        object.__setattr__(self, "split", read_shares(self.split, self._parts))
        if self.designed and (self.mechanism != "geometric" or self.error is not None):
            raise InvalidInput(
                f"{arg('properties')} and {arg('loss')} ask for a design, which is made for an epsilon and a bound "
                "or sizes.",
                f"Leave {arg('mechanism')} and {arg('error')} out.",
            )

    @property
    def _parts(self) -> int:
        """Number of parts of a split: one for each question, or for each level of one question with totals."""
        words = self.questions[0].casefold()
        totals = self.totals is not None or any(word in words for word in ("rollup", "cube", "grouping"))
        return max(1, len(self.split or ())) if len(self.questions) == 1 and totals else len(self.questions)

    @property
    def level_split(self) -> tuple[Fraction, ...]:
        """The parts of the levels of a single question; empty if the request does not split levels."""
        return self.split if len(self.questions) == 1 < len(self.split) else ()

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The part of epsilon of each question."""
        return (Fraction(1),) if self.level_split else self.split

    @property
    def designed(self) -> bool:
        """Whether a mechanism must be designed for this release."""
        return self.properties is not None or self.loss is not None


#: The words for each field, by its name, in the order of forms and help.
WORDS: dict[str, FieldWords] = {one.name: one.metadata["words"] for one in fields(ReleaseRequest)}


def read_request(questions: str | Sequence[str] | ReleaseRequest, **fields: Unpack[RequestFields]) -> ReleaseRequest:
    """Return the request that these keywords make; a request is returned as it is.

    >>> read_request("SELECT COUNT(*) FROM visits", unit="row", epsilon=1, level=2)
    Traceback (most recent call last):
    discreet.errors.InvalidInput: level, how often an interval covers, must be from 0.5 to below 1, such as 0.95; got 2.
    """
    if isinstance(questions, ReleaseRequest):
        if fields:
            raise InvalidInput(
                "the request says all that is asked.", f"Leave {', '.join(sorted(fields))} out.", argument=min(fields)
            )
        return questions
    for name in fields:
        if name not in RequestFields.__annotations__:
            raise WrongType(
                f"a release has no {name}=...; it has {', '.join(RequestFields.__annotations__)}.", argument=name
            )
    if "unit" not in fields:
        raise WrongType(WHOSE, argument="unit")
    return ReleaseRequest(questions=questions, **fields)  # type: ignore[arg-type]  # they are read when it is made


#: Fields -> how a request reads their values when it is made.
_READERS: dict[str, Callable[[Any], Any]] = {
    "questions": read_questions,
    "domain": partial(read_declared, "domain"),
    "groups": partial(read_declared, "groups"),
    "zeros": partial(read_declared, "zeros"),
    "split": read_split,
    "unit_name": read_unit_name,
    "discover": read_columns,
    "epsilon": read_epsilon,
    "delta": read_delta,
    "max_rows": read_max_rows,
    "per": Per.read,
    "mechanism": read_mechanism,
    "counts": lambda name: find_name(name, OUTPUTS, "a form of counts", argument="counts"),
    "totals": read_totals,
    "tables": read_tables,
    "quantile": lambda texts: read_quantiles(texts or ()),
    "suppress_below": read_suppression,
    "level": read_level,
    "edition": read_edition,
    **{name: partial(read_publication_text, name=name) for name in LABELS},
}
