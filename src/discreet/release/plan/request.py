"""What a person asks of a release, read once: the one form that Python's keywords, the command line and files share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, TypedDict, Unpack

from ...errors import InvalidInput, InWords, WrongType, arg, named
from ...exact.integers import is_integer
from ...exact.rationals import Number, as_fraction, read_epsilon
from ...ledger.budget import RELATIONS
from ...losses import Loss
from ...mechanism import Mechanism
from ...ptables.table import PTable
from ...unit import read_unit_name
from ...wording import find_name
from ..noise.accuracy import read_level
from ..noise.cells import OUTPUTS, cell_mechanism
from .protection import WHOSE

#: Values of group columns: by name, or as text ("site=1..6"). What they hold is read against the question.
Domain: TypeAlias = Mapping[str, Any] | Sequence[str]

#: A file of groups, or rows of them from a person's own program.
Rows: TypeAlias = Any


class RequestFields(TypedDict, total=False):
    """What a request is made of, as keywords: :class:`ReleaseRequest` says what each is."""

    unit: str
    unit_name: str | None
    domain: Domain | None
    bands: Domain | None
    groups: Rows
    zeros: Rows
    discover: str | Sequence[str] | None
    one_row_each: bool
    epsilon: Number | None
    delta: Number
    error: int | None
    mechanism: str | Mechanism | PTable
    properties: str | Sequence[Any] | None
    loss: str | Loss | None
    counts: str | None
    bound: int | None
    sizes: Rows
    relation: str | None
    max_groups: int | None
    totals: str | Sequence[str] | None
    split: Sequence[Number] | None
    suppress_below: int | None
    level: Number
    edition: str
    dataset: str | None


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest:
    """What is asked of a release. Every number is read and every name is found when it is made; no data is looked at.

    Attributes
    ----------
    questions
        SQL: one table, WHERE, GROUP BY, COUNT(*), COUNT(DISTINCT unit), COUNT_IF(condition). Several questions make one
        release, whose epsilon is split among them.
    unit
        ``"row"``, or the column that says whose row it is.
    unit_name
        What texts call the unit: ``"person"``, ``"household"``, ``"device"``. Without it they call it by its column.
        With ``unit="row"`` it is your statement, published as such, that every row is a different one. The ledger
        keeps the name of its first release.
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
        Group columns whose values are found in the data instead of declared, ``"job"`` or ``["job", "town"]``. A group
        is named only if its noisy count passes a threshold that follows from epsilon, ``delta`` (required) and
        ``max_groups``.
    one_row_each
        With ``discover`` and ``unit="row"``: your statement that each person has one row.
    epsilon, delta
        For the whole release, per unit. Leave ``epsilon`` out with ``error`` or a saved mechanism: it then follows.
    error
        Instead of ``epsilon``: how far off a count may be, at most, with probability ``level``.
    mechanism
        A name (such as geometric or discrete-gaussian; ``discreet release --help`` lists them), a mechanism, or a
        p-table, which is used with fresh keys. One whose guarantee has a delta costs both, what it states or what it
        has at your ``epsilon``.
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
        In how many groups one unit is counted at most. There is no default where a unit can have rows in several
        groups: 1 counts each in one group only, the number of groups counts each wherever it has rows.
    totals
        Columns to publish totals over as well, in every combination: ``["sex"]``, or ``"all"``. Like ROLLUP and CUBE in
        the question: people are bounded once, and all counts are combined so that they add up.
    split
        For several questions: the parts of epsilon each gets, such as ``[2, 1]``; equal by default. For one question
        with totals: the parts of its levels, the finest first; by default chosen for a small largest error.
    suppress_below
        Withhold reported counts below this. Only the noisy count decides.
    level
        The coverage of intervals, whatever the truth.
    edition
        Your name for the state of the data. The same question for the same edition has one answer.
    dataset
        The data set whose people these are, where the file has another name, such as next quarter's: one account for
        the same people. It needs an ``edition``, so that no file gets the recorded answer of another. A table in memory
        has no other name: there it is required, the question calls the table so, and the edition may be left out.

    Examples
    --------
    >>> import discreet as dc
    >>> asked = dc.ReleaseRequest(
    ...     questions=("SELECT COUNT(*) FROM visits",), unit="row", epsilon="0.1", counts="Signed"
    ... )
    >>> asked.epsilon, asked.counts, asked.relation
    (Fraction(1, 10), 'signed', 'add-remove')
    """

    questions: tuple[str, ...]
    unit: str
    unit_name: str | None = None
    domain: Domain | None = None
    bands: Domain | None = None
    groups: Rows = None
    zeros: Rows = None
    discover: tuple[str, ...] = ()
    one_row_each: bool = False
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    error: int | None = None
    mechanism: str | Mechanism = "geometric"
    properties: str | Sequence[Any] | None = None
    loss: str | Loss | None = None
    counts: str | None = None
    bound: int | None = None
    sizes: Rows = None
    relation: str = ""
    max_groups: int | None = None
    totals: tuple[str, ...] | None = None
    split: tuple[Fraction, ...] = ()
    suppress_below: int | None = None
    level: Fraction = Fraction(95, 100)
    edition: str = ""
    dataset: str | None = None

    def __post_init__(self) -> None:
        for name, read in _READERS.items():
            given = getattr(self, name)
            if given is not None or name == "discover":
                object.__setattr__(self, name, read(given))
        object.__setattr__(self, "relation", _relation(self.relation, self.sizes))
        object.__setattr__(self, "split", _shares(self.split, self._parts))
        if self.designed and (self.mechanism != "geometric" or self.error is not None):
            raise InvalidInput(
                f"{arg('properties')} and {arg('loss')} ask for a design, which is made for an epsilon and a bound "
                "or sizes.",
                f"Leave {arg('mechanism')} and {arg('error')} out.",
            )

    @property
    def _parts(self) -> int:
        """How many parts a split has: one for each question, or for each level of one that may have totals."""
        words = self.questions[0].casefold()
        totals = self.totals is not None or any(word in words for word in ("rollup", "cube", "grouping"))
        return max(1, len(self.split or ())) if len(self.questions) == 1 and totals else len(self.questions)

    @property
    def level_split(self) -> tuple[Fraction, ...]:
        """The parts of the levels of a single question; none if they were not given."""
        return self.split if len(self.questions) == 1 < len(self.split) else ()

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The part of epsilon that each question gets."""
        return (Fraction(1),) if self.level_split else self.split

    @property
    def designed(self) -> bool:
        """Whether a mechanism is to be designed for this release."""
        return self.properties is not None or self.loss is not None


def read_request(questions: str | Sequence[str] | ReleaseRequest, **fields: Unpack[RequestFields]) -> ReleaseRequest:
    """The request that these keywords make, or a request that is one already.

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


def _texts(questions: str | Sequence[str]) -> tuple[str, ...]:
    texts = [questions] if isinstance(questions, str) else list(questions)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidInput("give the question as SQL text, or a list of several.", argument="questions")
    return tuple(texts)


def _relation(written: str | None, sizes: object) -> str:
    relation = None if not written else find_name(written, RELATIONS, "a neighbour relation", argument="relation")
    if sizes is not None and relation is not None and RELATIONS[relation].hides_presence:
        raise InvalidInput(
            "with public sizes the relation is substitution: the number of units in each group is known, so nobody "
            "can join or leave unseen.",
            f"Leave {arg('relation')} out, or {arg('sizes')}",
        )
    return relation or ("add-remove" if sizes is None else "substitution")


def _shares(split: Sequence[Number] | None, number: int) -> tuple[Fraction, ...]:
    """The part of epsilon that each question gets, or each level of a single one; they add up to one."""
    if not split:
        return (Fraction(1, number),) * number
    parts = [as_fraction(part, "a part of the split") for part in split]
    if len(parts) != number or min(parts) <= 0:
        raise InvalidInput.must_be(
            "split", f"as many positive numbers as there are questions, {number}", InWords(", ".join(map(str, split)))
        )
    return tuple(part / sum(parts) for part in parts)


def _read_totals(totals: object) -> tuple[str, ...]:
    """The names of columns, as a list or with commas."""
    names = totals.split(",") if isinstance(totals, str) else totals
    if (
        not isinstance(names, Sequence)
        or not names
        or not all(isinstance(name, str) and name.strip() for name in names)
    ):
        raise InvalidInput.must_be("totals", "columns of GROUP BY, such as sex,age, or all", totals)
    return tuple(name.strip() for name in names)


def _mechanism(mechanism: str | Mechanism | PTable) -> str | Mechanism:
    """The mechanism that was named or given."""
    if getattr(mechanism, "composes", True) is False:
        raise InvalidInput(
            f"this cannot be priced: {getattr(mechanism, 'why', 'it does not compose')}.", argument="mechanism"
        )
    if isinstance(mechanism, PTable):
        return mechanism.mechanism()
    return cell_mechanism(mechanism) if isinstance(mechanism, str) else mechanism


def _suppress_below(value: object) -> int:
    if not is_integer(value):
        raise InvalidInput.must_be("suppress_below", "a whole number", value)
    return int(value)  # type: ignore[call-overload,no-any-return]


def _read_delta(delta: Number) -> Fraction:
    value = as_fraction(delta, "delta")
    if not 0 <= value < 1:
        raise InvalidInput.must_be("delta", "a probability, far below one over the number of people", delta)
    return value


def _columns(discover: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns to discover: a text with commas, or a list of names."""
    names = discover.split(",") if isinstance(discover, str) else () if discover is None else discover
    if not isinstance(names, Sequence) or not all(isinstance(name, str) and name.strip() for name in names):
        raise WrongType.must_be("discover", "names of GROUP BY columns, such as job", discover)
    return tuple(name.strip() for name in names)


def _read_edition(edition: object) -> str:
    if not isinstance(edition, str) or len(edition) > 200 or not edition.isprintable():
        raise InvalidInput(
            f"{named('edition')} is a short name for the state of the data, of printable characters: 2026-11."
        )
    return edition


#: Fields that are read as soon as they are given.
_READERS: dict[str, Callable[[Any], Any]] = {
    "questions": _texts,
    "unit_name": read_unit_name,
    "discover": _columns,
    "epsilon": read_epsilon,
    "delta": _read_delta,
    "mechanism": _mechanism,
    "counts": lambda written: find_name(written, OUTPUTS, "a form of counts", argument="counts"),
    "totals": _read_totals,
    "suppress_below": _suppress_below,
    "level": read_level,
    "edition": _read_edition,
}
