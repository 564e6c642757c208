"""Making a plan from what a person asks for: questions, public groups, privacy or error. No row is read."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...addresses import Address, read_address
from ...engines.sources import Counting, Source, open_source
from ...errors import InvalidInput
from ...exact.rationals import as_fraction, claimed, read_epsilon, text_up
from ...ledger.budget import Cost, read_name
from ...mechanism import Mechanism
from ...names import find_name
from ...ptables.table import PTable
from ...questions import groups as declared
from ...questions.groups import Groups
from ...questions.question import Question, expand_view, find_column, read_question, read_view
from ...questions.readings import reading_notes
from ...spaces import is_integer
from ..noise.accuracy import read_level
from ..noise.cells import OUTPUTS, CellNoise, TableFamily, cell_mechanism, cell_noise
from ..noise.targets import epsilon_for, sigma2_for
from .plan import Plan, TablePlan
from .pricing import composition, price, weakest_noise
from .protection import RELATIONS, ROW, Protection

IntArray = NDArray[np.int64]

#: A release of more cells than this is a mistake in a domain.
MOST_CELLS = 10_000_000

_DEEPEST_VIEW = 20

#: Kinds of columns that are read as text -> what that text looks like, what they hold, and how to write it.
_WRITTEN = {
    "boolean": ("true|false", "truth values", "true,false"),
    "date": (r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}( \(BC\))?|-?infinity", "dates", "2020-01-31"),
    "timestamp": (
        r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?( \(BC\))?|-?infinity",
        "moments",
        "2020-01-31 12:30:00",
    ),
}


def plan_release(
    questions: str | Sequence[str],
    *,
    data: str | Path | Source,
    unit: str,
    domain: Mapping[str, Any] | Sequence[str] | None = None,
    groups: Any = None,
    zeros: Any = None,
    epsilon: Any = None,
    delta: Any = 0,
    error: Any = None,
    mechanism: str | Mechanism | PTable = "geometric",
    properties: Any = None,
    loss: Any = None,
    counts: str | None = None,
    bound: int | None = None,
    sizes: Any = None,
    relation: str | None = None,
    max_groups: int | None = None,
    split: Sequence[Any] | None = None,
    suppress_below: int | None = None,
    level: Any = "0.95",
    edition: str = "",
    dataset: str | None = None,
) -> Plan:
    """Work out what a release would publish and cost, without reading a row.

    Parameters
    ----------
    questions
        SQL: one table, WHERE, GROUP BY, COUNT(*), COUNT(DISTINCT unit), COUNT_IF(condition). Several questions make one
        release, whose epsilon is split among them.
    data
        The file (CSV, Parquet or a DuckDB database). Only its column names and types are read, if it is there.
    unit
        ``"row"``, or the column that says which person a row belongs to.
    domain
        The values of each group column, ``{"site": range(1, 7), "health": ["good", "poor"]}``: the groups are their
        cross product. They are public and never taken from the data. ``None`` among the values stands for missing ones.
    groups
        Instead of ``domain``: the groups themselves, a CSV file or a list of rows.
    zeros
        Structural zeros: groups that cannot exist, a CSV file or a list of rows.
    epsilon, delta
        For the whole release, per unit. Leave ``epsilon`` out with ``error`` or a saved mechanism: it then follows.
    error
        Instead of ``epsilon``: how far off a count may be, at most, with probability ``level``.
    mechanism
        A name (geometric, discrete-gaussian, explicit-fair, randomized-response, rounded-laplace), a mechanism, or a
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
        In how many groups one person is counted at most. There is no default where a person can have rows in several
        groups: 1 counts each in one group only, the number of groups counts everyone wherever they have rows.
    split
        For several questions: the parts of epsilon each gets, such as ``[2, 1]``; equal by default.
    suppress_below
        Withhold reported counts below this. Only the noisy count decides.
    level
        The coverage of intervals, whatever the truth.
    edition
        Your name for the state of the data. The same question for the same edition has one answer.
    dataset
        The data set whose people these are, where the file has another name, such as next quarter's: one account for
        the same people. It needs an ``edition``, so that no file gets the recorded answer of another.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.plan_release(
    ...     "SELECT COUNT(*) FROM visits WHERE health = 'poor'", data="visits.csv", unit="person", error=5,
    ... )
    >>> plan.cells, round(float(plan.cost.epsilon), 2)
    (1, 0.54)
    """
    source = _existing(data)
    asked = [read_question(sql, unit=unit) for sql in _several(questions)]
    if source is not None:
        asked = [question.bind(source.table(question.table), source.spelled(question.table)) for question in asked]
    bases, unit = _expanded(asked, unit, source)
    cells = _cells(asked, domain, groups, zeros)
    protection = Protection(unit, _relation(relation, sizes), _max_groups(max_groups, unit, bases, cells))
    if source is not None:
        _refuse_texts(asked, cells, source)
    blanks = _blank_notes(domain)
    notes = blanks + [
        note for base in bases if source is not None for note in reading_notes(base, source.table(base.table))
    ]
    if sum(g.size * len(q.aggregates) for q, g in zip(asked, cells, strict=True)) > MOST_CELLS:
        raise InvalidInput(f"that is more than {MOST_CELLS:,} cells; declare fewer groups.")
    shares = _shares(split, len(asked))
    largest = None if sizes is None else _sizes(sizes, asked, cells)
    if suppress_below is not None and not is_integer(suppress_below):
        raise InvalidInput(f"suppress_below=... must be a whole number; got {suppress_below!r}.")
    withheld = None if suppress_below is None else int(suppress_below)
    wanted = read_level(level)
    family = _designed(mechanism, properties, loss, error)
    form = None if counts is None else find_name(counts, OUTPUTS, "a form of counts")
    wish = _Wish(family, form, bound, largest, _optional(epsilon), _read_delta(delta), error, wanted)
    drafts = [
        _Draft(question, group, share, protection.touched(question, group), withheld)
        for question, group, share in zip(bases, cells, shares, strict=True)
    ]
    for question, group in zip(bases, cells, strict=True):
        # refuses what cannot be counted, before anything is spent
        Counting(question, group, unit, protection.max_groups, b"")
    tables = wish.fill(drafts)
    cost = price(tables, *wish.claim(tables))
    notes += wish.overpaid(tables, cost)
    told = tuple(dict.fromkeys(notes))
    refuse_unnamed_selection(data, edition)
    name = _name(data, source) if dataset is None else _account(dataset, edition, _name(data, source))
    return Plan(name, protection, tuple(tables), cost, wanted, _read_edition(edition), told)


# ------------------------------------------------------------------------------------------------ reading the request


def _several(questions: str | Sequence[str]) -> list[str]:
    texts = [questions] if isinstance(questions, str) else list(questions)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidInput("give the question as SQL text, or a list of several.")
    return texts


def _existing(data: str | Path | Address | Source) -> Source | None:
    """The source, if it is there: a plan can be made for data that is not."""
    if not isinstance(data, str | Path | Address):
        return open_source(data)
    address = read_address(data)
    return open_source(address) if address.may_be_opened else None


def _name(data: str | Path | Source, source: Source | None) -> str:
    if source is not None:
        return source.dataset
    return read_address(data).dataset  # type: ignore[arg-type]


def _account(dataset: Any, edition: Any, own: str) -> str:
    """The data set that a file of another name belongs to; which file it is, the edition must tell."""
    if not edition:
        raise InvalidInput(
            f"a data set named by dataset=... has several files, so say which one this is: edition='{own}', or your "
            "own name for it. The same question for the same edition gets the recorded answer."
        )
    return read_name(dataset, "data set")


def refuse_unnamed_selection(data: object, edition: Any) -> None:
    """A pattern that chooses among files of one name would get the recorded answer of another choice."""
    if not edition and isinstance(data, str | Path | Address) and read_address(data).is_selection:
        raise InvalidInput(
            f"{data} chooses some files of one name, so say which these are: edition='2024', or your own name for "
            "them. The same question for the same edition gets the recorded answer."
        )


def _max_groups(given: int | None, unit: str, asked: Sequence[Question], cells: Sequence[Groups]) -> int:
    """The bound on contributions. It changes what the counts mean, so nothing is assumed where it matters."""
    if given is not None:
        return given
    several = [
        groups.live
        for question, groups in zip(asked, cells, strict=True)
        if groups.live > 1 and set(question.by) != {unit}
    ]
    if unit == ROW or not several:
        return 1
    most = max(several)
    raise InvalidInput(
        f"say in how many groups one person is counted, since people can have rows in several of the {most:,}:\n"
        f"  max_groups=1  each person is counted in one group only and is missing from the others: the least noise\n"
        f"  max_groups={most}  each person is counted in every group where they have rows: up to {most:,} times the "
        "noise\nIf everyone has rows in one group only, as one year of data may have it, 1 leaves nobody out."
    )


def _relation(written: str | None, sizes: Any) -> str:
    relation = None if written is None else find_name(written, RELATIONS, "a neighbour relation")
    if sizes is not None and relation == "add-remove":
        raise InvalidInput(
            "with public sizes the number of units in each group is known, so none can join or leave unseen: the "
            "relation is substitution. Leave relation=... out, or sizes=..."
        )
    return relation or ("add-remove" if sizes is None else "substitution")


def _expanded(asked: Sequence[Question], unit: str, source: Source | None) -> tuple[list[Question], str]:
    """The questions to the tables themselves, and the unit's column there.

    A ledger binds the table's own column: a view that calls another column by the name of the unit protects nobody.
    """
    if source is None:
        return list(asked), unit
    found = [_base(question, unit, source) for question in asked]
    units = sorted({column for _, column in found})
    if ROW in units and unit != ROW:
        raise InvalidInput(
            f"the unit {unit!r} is the column {ROW!r} of the table, but unit='{ROW}' means that each row is its own "
            "unit. Give the column another name."
        )
    if len(units) > 1:
        raise InvalidInput(f"{unit!r} stands for different columns of the tables: {', '.join(units)}. Ask them apart.")
    return [question for question, _ in found], units[0]


def _base(question: Question, unit: str, source: Source) -> tuple[Question, str]:
    column = unit if unit == ROW else find_column(unit, source.table(question.table))
    for _ in range(_DEEPEST_VIEW):
        definition = source.view(question.table)
        if definition is None:
            if column != ROW:
                source.check_unit(question.table, column)
            return question, column
        view = read_view(definition)
        columns = source.table(view.table)
        column = column if column == ROW else find_column(view.column(column), columns)
        question = expand_view(question, definition).bind(columns, source.spelled(view.table))
    raise InvalidInput(f"the view rests on views more than {_DEEPEST_VIEW} deep; ask the table itself.")


def _cells(asked: Sequence[Question], domain: Any, groups: Any, zeros: Any) -> list[Groups]:
    if domain is not None and groups is not None:
        raise InvalidInput("give the groups by domain=... or by groups=..., not both.")
    if (groups is not None or zeros is not None) and len(asked) > 1:
        raise InvalidInput(
            "a list of groups or of structural zeros belongs to one question; release several by domain."
        )
    _refuse_unused(domain, groups, {column for question in asked for column in question.by})
    found = []
    for question in asked:
        if not question.by:
            found.append(declared.TOTAL)
            continue
        if groups is not None:
            found.append(
                declared.read_groups(groups, question.by)
                if isinstance(groups, str | Path)
                else declared.groups_from(groups, question.by)
            )
        elif domain is None:
            raise InvalidInput(
                f"declare the groups of {', '.join(question.by)}: domain=['{question.by[0]}=1..6'] or "
                f"domain=['{question.by[0]}=a,b,c'] for each, or groups='FILE'. Groups are public; they never come "
                "from the data."
            )
        else:
            found.append(_from_domain(domain, question.by))
    if zeros is not None:
        found = [declared.with_zeros(found[0], zeros)]
    return found


def _blank_notes(domain: Any) -> list[str]:
    """What to know of a domain that was written with blanks after its commas."""
    if domain is None or isinstance(domain, Mapping):
        return []
    written = [declared.split_domain(text) for text in domain]
    return [
        f"blanks around the values of {column} were taken for layout; put a value in quotes to keep its blanks."
        for column, body in written
        if declared.blanks_removed(body, column)
    ]


def _refuse_texts(asked: Sequence[Question], cells: Sequence[Groups], source: Source) -> None:
    """Texts are no values of a column of numbers: a range that was mistyped would count nobody, and cost epsilon."""
    for question, groups in zip(asked, cells, strict=True):
        kinds = source.table(question.table)
        for column, kind, values in zip(question.by, groups.kinds, groups.values, strict=True):
            stored = kinds.get(column, "other")
            if kind == "text" and stored in ("integer", "number"):
                shown = ", ".join(repr(value) for value in list(values)[:5])
                raise InvalidInput(
                    f"the column {column!r} holds numbers, and its domain has texts ({shown}). Write numbers: 1..6 "
                    "for a range, or 1,2,3."
                )
            if stored in _WRITTEN:
                pattern, what, instead = _WRITTEN[stored]
                odd = [value for value in values if value is not None and not re.fullmatch(pattern, str(value))]
                if odd:
                    raise InvalidInput(
                        f"the column {column!r} holds {what}, and {odd[0]!r} of its domain is none: no row can match. "
                        f"Write {instead}."
                    )


def _from_domain(domain: Any, by: Sequence[str]) -> Groups:
    if isinstance(domain, Mapping):
        return declared.groups_from({name: values for name, values in domain.items() if _alike(name, by)}, by)
    return declared.read_domain([text for text in domain if _alike(declared.domain_column(text), by)], by)


def _alike(name: Any, columns: Collection[str]) -> bool:
    """Whether a name means one of these columns: SQL does not mind the case."""
    return name in columns or str(name).casefold() in {column.casefold() for column in columns}


def _refuse_unused(domain: Any, groups: Any, used: set[str]) -> None:
    if groups is not None and not used:
        raise InvalidInput("the question has no GROUP BY, so it has no groups to declare.")
    if domain is None:
        return
    names = list(domain) if isinstance(domain, Mapping) else [declared.domain_column(text) for text in domain]
    for name in names:
        if not _alike(name, used):
            raise InvalidInput(
                f"a domain is declared for {name!r}, which no question groups by "
                f"({', '.join(sorted(used)) or 'there is no GROUP BY'})."
            )


def _sizes(sizes: Any, asked: Sequence[Question], cells: Sequence[Groups]) -> IntArray:
    if len(asked) > 1:
        raise InvalidInput("public sizes belong to one question; release the tables one by one.")
    per_group = declared.read_sizes(sizes, cells[0])
    return np.repeat(per_group, len(asked[0].aggregates))


def _shares(split: Sequence[Any] | None, number: int) -> list[Fraction]:
    if split is None:
        return [Fraction(1, number)] * number
    parts = [as_fraction(part, "a part of the split") for part in split]
    if len(parts) != number or min(parts) <= 0:
        raise InvalidInput(
            f"split=... needs as many positive numbers as there are questions, {number}; got "
            f"{', '.join(map(str, split))}."
        )
    return [part / sum(parts) for part in parts]


def _designed(
    mechanism: str | Mechanism | PTable, properties: Any, loss: Any, error: Any
) -> str | Mechanism | TableFamily:
    """The mechanism that was named or given, or how to design one for a largest count and an epsilon."""
    if getattr(mechanism, "composes", True) is False:
        raise InvalidInput(f"this cannot be priced: {getattr(mechanism, 'why', 'it does not compose')}.")
    if isinstance(mechanism, PTable):
        mechanism = mechanism.mechanism()
    if isinstance(mechanism, str):
        mechanism = cell_mechanism(mechanism)
    if properties is None and loss is None:
        return mechanism
    if mechanism != "geometric" or error is not None:
        raise InvalidInput(
            "properties=... and loss=... ask for a design, which is made for an epsilon and a bound or sizes; leave "
            "mechanism=... and error=... out."
        )
    from ...optimise.design.designing import design

    return lambda n, epsilon: design(n, epsilon=epsilon, properties=properties or (), loss=loss or "L0")


def _optional(epsilon: Any) -> Fraction | None:
    return None if epsilon is None else read_epsilon(epsilon)


def _read_delta(delta: Any) -> Fraction:
    value = as_fraction(delta, "delta")
    if not 0 <= value < 1:
        raise InvalidInput(f"delta is a probability, far below one over the number of people; got {delta!r}.")
    return value


def _read_edition(edition: Any) -> str:
    if not isinstance(edition, str) or len(edition) > 200 or not edition.isprintable():
        raise InvalidInput("edition is a short name for the state of the data, of printable characters: 2026-11.")
    return edition


# ------------------------------------------------------------------------------------------------ choosing the noise


@dataclass(frozen=True)
class _Draft:
    question: Question
    groups: Groups
    share: Fraction
    touched: int
    suppress_below: int | None

    def table(self, noise: CellNoise) -> TablePlan:
        return TablePlan(self.question, self.groups, noise, self.share, self.touched, self.suppress_below)


@dataclass(frozen=True)
class _Wish:
    """The noise that was asked for: by epsilon, by error, or as it is."""

    mechanism: str | Mechanism | TableFamily
    output: str | None
    bound: int | None
    sizes: IntArray | None
    epsilon: Fraction | None
    delta: Fraction
    error: Any
    level: Fraction

    def fill(self, drafts: Sequence[_Draft]) -> Sequence[TablePlan]:
        if isinstance(self.mechanism, Mechanism):
            if self.error is not None:
                raise InvalidInput("a saved mechanism has its error already; leave error=... out.")
            return [draft.table(self._noise()) for draft in drafts]
        if self.epsilon is not None and self.error is not None:
            raise InvalidInput("give epsilon=... or error=..., not both: one follows from the other.")
        if self.epsilon is None and self.error is None:
            raise InvalidInput(
                "say how much noise: epsilon=... (the privacy of the whole release) or error=... (how far off a count "
                "may be)."
            )
        gaussian = self.mechanism == "discrete-gaussian"
        if self.error is not None:
            if gaussian:
                noise = self._noise(sigma2=sigma2_for(self.error, self.level))
            else:
                noise = self._noise(epsilon=epsilon_for(str(self.mechanism), self.error, self.level))
            return [draft.table(noise) for draft in drafts]
        assert self.epsilon is not None
        if gaussian:
            if not self.delta:
                raise InvalidInput(
                    "discrete-gaussian needs a delta: delta='1e-6', far below one over the number of people."
                )
            return weakest_noise(lambda rho: self._gaussian(drafts, rho), self.epsilon, self.delta, self.epsilon**2 / 8)
        if not self.delta:
            return self._pure(drafts, self.epsilon)
        return weakest_noise(lambda scale: self._pure(drafts, scale), self.epsilon, self.delta, self.epsilon)

    def claim(self, tables: Sequence[TablePlan]) -> tuple[Fraction | None, Fraction]:
        """The epsilon and delta to hold the noise against: those asked for, or those a ready mechanism has itself."""
        if not isinstance(self.mechanism, Mechanism) or self.delta:
            return self.epsilon, self.delta
        certificate = self.mechanism.certificate
        if self.epsilon is None and certificate.delta:
            times = sum(table.touched for table in tables)
            return times * Fraction(certificate.epsilon), times * Fraction(certificate.delta)
        if self.epsilon is not None and (certificate.delta or math.isinf(certificate.epsilon)):
            return self.epsilon, claimed(composition(tables).delta(self.epsilon))
        return self.epsilon, self.delta

    def overpaid(self, tables: Sequence[TablePlan], cost: Cost) -> list[str]:
        """A note where a ready mechanism has less epsilon than was asked for, and so would be paid for."""
        if not isinstance(self.mechanism, Mechanism) or self.epsilon is None or cost.delta:
            return []
        least = composition(tables).epsilon(Fraction(0))
        if not least < 0.999 * float(self.epsilon):
            return []
        return [
            f"this mechanism has epsilon {text_up(least)} here, and {text_up(float(self.epsilon))} is charged; ask for "
            "no epsilon to be charged what it has."
        ]

    def _pure(self, drafts: Sequence[_Draft], epsilon: Fraction) -> list[TablePlan]:
        """Each table gets its share of epsilon, each cell that a unit can move an equal part of that."""
        return [draft.table(self._noise(epsilon=epsilon * draft.share / draft.touched)) for draft in drafts]

    def _gaussian(self, drafts: Sequence[_Draft], rho: Fraction) -> list[TablePlan]:
        """Each table gets its share of rho: ``touched / (2 sigma2) = share rho``."""
        return [draft.table(self._noise(sigma2=draft.touched / (2 * rho * draft.share))) for draft in drafts]

    def _noise(self, epsilon: Fraction | None = None, sigma2: Fraction | None = None) -> CellNoise:
        noise = cell_noise(
            self.mechanism, epsilon=epsilon, sigma2=sigma2, bound=self.bound, sizes=self.sizes, output=self.output
        )
        # people expect counts that are not negative; whoever adds many small ones up asks for signed ones
        unsaid = self.output is None and noise.output == "signed"
        return replace(noise, output="clamped", low=0) if unsaid else noise
