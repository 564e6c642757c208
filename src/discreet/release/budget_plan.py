"""Several planned releases and what is left in their ledger: their costs added up before the first is paid.

A budget plan is a TOML file. It names the ledger, and each release as a request file, perhaps for several editions, or
by its cost where the question is not written yet. Files are relative to the plan.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from ..datasets.locations import resolve_location
from ..errors import DiscreetError, InvalidInput, UnreadableFile, WrongType
from ..exact.rationals import as_fraction, read_epsilon
from ..ledger.accounts import highest
from ..ledger.budget import NOTHING, Cost, amount_text
from ..ledger.ledger import Charge, Ledger
from ..ledger.statement import periods_in_words
from ..lists import read_list
from ..report import Fact, Json, Report, Result, Section, Terms, TextTable, stamped
from ..wording import nearest, plural
from .bundle.recorded import recorded_answer
from .charging import refuse_other_account
from .dataset import Dataset
from .plan.plan import Plan
from .plan.planning import plan_release
from .plan.request_file import open_request

#: The format in the first line of a budget plan.
FORMAT = "discreet budget plan"

_KEYS = ("format", "version", "ledger", "releases")

#: Keys of a release by its request, and of one by its cost.
_REQUEST_KEYS, _COST_KEYS = ("request", "editions"), ("name", "epsilon", "delta", "times", "periods")

#: Maximum number of repetitions of a release.
_MAX_REPETITIONS = 1_000

_EXAMPLE = 'Write [[releases]], and below it request = "by_site.toml", or epsilon = 0.5.'


@dataclass(frozen=True)
class BudgetLine:
    """A release of a budget plan.

    Attributes
    ----------
    name, edition
        Its request file, or its name in the plan, and the edition.
    cost
        Its cost.
    verdict
        "paid", "refused" (what is left then does not suffice) or "recorded" (an answer that costs nothing).
    left
        What is left afterwards, of the periods that it reads.
    periods
        The periods that it reads, in a ledger by period; None for all.
    """

    name: str
    edition: str
    cost: Cost
    verdict: str
    left: Cost
    periods: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        periods: dict[str, Json] = {} if self.periods is None else {"periods": list(self.periods)}
        return {
            "name": self.name, "edition": self.edition, "cost": self.cost.to_json(), "verdict": self.verdict,
            "left": self.left.to_json(), **periods,
        }  # fmt: skip


@dataclass(frozen=True)
class PeriodTotal:
    """The planned releases that read a period, added up.

    Attributes
    ----------
    period
        The period; None stands for every period that neither the plan nor the ledger names.
    together, left
        Their cost together, and what is left of the period now.
    missing
        What the budget lacks for them; None if it suffices.
    """

    period: str | None
    together: Cost
    left: Cost
    missing: Cost | None

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        missing = None if self.missing is None else self.missing.to_json()
        return {
            "period": self.period, "together": self.together.to_json(), "left": self.left.to_json(), "missing": missing
        }  # fmt: skip


@dataclass(frozen=True)
class BudgetPlan(Result):
    """Planned releases, added up against what is left in a ledger: :func:`discreet.plan_budget` returns it.

    Attributes
    ----------
    name, ledger
        The file, and the address of the ledger.
    releases
        The releases in their order.
    left
        What is left now.
    together
        The cost of all that are not recorded yet.
    missing
        What the budget lacks for all of them; None if it suffices.
    periods
        The sums by period, in a ledger by period.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = dc.Ledger.create(folder / "study.ledger", dataset="visits", unit="person", epsilon=2)
    >>> _ = (folder / "year.toml").write_text(
    ...     'format = "discreet budget plan"\\nledger = "study.ledger"\\n[[releases]]\\nepsilon = 1.5\\ntimes = 2'
    ... )
    >>> plan = dc.plan_budget(folder / "year.toml")
    >>> plan.fits, [release.verdict for release in plan.releases], str(plan.missing)
    (False, ['paid', 'refused'], 'epsilon 1')
    """

    name: str
    ledger: str
    releases: tuple[BudgetLine, ...]
    left: Cost
    together: Cost
    missing: Cost | None
    periods: tuple[PeriodTotal, ...] = ()

    @property
    def fits(self) -> bool:
        """True if what is left pays for all releases together."""
        return self.missing is None

    def to_json(self) -> dict[str, Json]:
        """Return plain JSON values."""
        content: dict[str, Json] = {
            "ledger": self.ledger,
            "fits": self.fits,
            "left": self.left.to_json(),
            "together": self.together.to_json(),
            "missing": None if self.missing is None else self.missing.to_json(),
            "releases": [release.to_json() for release in self.releases],
        }
        if self.periods:
            content["periods"] = [total.to_json() for total in self.periods]
        return stamped("budget-plan", 1, content)

    def report(self) -> Report:
        """Report the sum, what is left, and each release."""
        together = self.together.as_counted_by(self.left)
        cost, left = amount_text(together, up=True) or "nothing", amount_text(self.left)
        pairs = [("releases", f"{plural(len(self.releases), 'release')}, together {cost}"), ("left now", left)]
        if self.missing is None:
            last = self.releases[-1].left if self.releases else self.left
            pairs.append(("decision", f"all would be paid; {amount_text(last)} is left afterwards"))
        else:
            missing = amount_text(self.missing, up=True)
            pairs.append(("decision", f"not all would be paid: {missing} is missing for all together"))
        rows = tuple(
            (
                str(number), release.name, release.edition,
                *([periods_in_words(release.periods)] if self.periods else []),
                amount_text(release.cost.as_counted_by(self.left), up=True) or "nothing", release.verdict,
                amount_text(release.left),
            )
            for number, release in enumerate(self.releases, 1)
        )  # fmt: skip
        named = ["periods"] if self.periods else []
        table = TextTable(("", "release", "edition", *named, "cost", "decision", "left afterwards"), rows, numbers=(0,))
        return Report(
            f"The budget plan {self.name}",
            kind=f"Planned releases from {self.ledger}",
            facts=(Fact(cost, "all planned releases together"), Fact(left, "left now")),
            sections=(Section(parts=(Terms(tuple(pairs)),)), Section(parts=(table,)), *self._by_period()),
            notes=("nothing was reserved: others may spend from the same ledger before these releases",),
        )

    def _by_period(self) -> Iterator[Section]:
        """Tabulate the sums by period, in a ledger by period."""
        if not self.periods:
            return
        rows = tuple(
            (
                total.period or "every other period",
                amount_text(total.together.as_counted_by(self.left), up=True) or "nothing",
                amount_text(total.left),
                "fits" if total.missing is None else f"{amount_text(total.missing, up=True)} is missing",
            )
            for total in self.periods
        )
        heading = ("period", "together", "left now", "decision")
        yield Section("By period", (TextTable(heading, rows, total=len(rows)),))

    def __str__(self) -> str:
        return self.describe()

    def _headline(self) -> str:
        decision = "fits" if self.fits else "does not fit"
        return f"{self.name}, {plural(len(self.releases), 'release')}, {decision}"


def plan_budget(path: str | Path, *, ledger: str | Path | Ledger | None = None) -> BudgetPlan:
    """Add up the planned releases of a file and compare them with what is left; no row is read, nothing is spent.

    Parameters
    ----------
    path
        A file with ``format = "discreet budget plan"``, ``ledger = "FILE"``, and for each release ``[[releases]]`` with
        ``request = "FILE.toml"`` (and ``editions = [...]``), or with ``epsilon`` (and ``delta``, ``times``, ``name``,
        and ``periods`` in a ledger by period).
    ledger
        Another ledger than that of the file.

    Examples
    --------
    See :class:`BudgetPlan`.

    >>> import discreet as dc
    >>> dc.plan_budget("year.toml")
    Traceback (most recent call last):
    discreet.errors.UnreadableFile: year.toml: it cannot be read: No such file or directory.
    """
    file = Path(path)
    try:
        content = _read(file)
        book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger or _ledger_of(content, file.parent))
        planned = list(_planned(content.get("releases"), file.parent, book))
        charges = [Charge(one.cost.recordable(), one.periods) for one in planned if not one.is_recorded]
        quotes = iter(book.quote_each(charges))
        totals = tuple(_totals(book, charges))
    except DiscreetError as problem:
        raise type(problem).because(str(file), problem) from None
    left = start = book.left()
    releases = []
    for one in planned:
        verdict = "recorded"
        if not one.is_recorded:
            left, lacking = next(quotes)
            verdict = "paid" if lacking is None else "refused"
        releases.append(BudgetLine(one.name, one.edition, one.cost, verdict, left, one.periods))
    lacking_by_period = [total.missing for total in totals if total.missing is not None]
    missing = highest(lacking_by_period) if lacking_by_period else None
    periods = () if book.terms.per is None else totals
    return BudgetPlan(file.name, book.name, tuple(releases), start, _together(charges), missing, periods)


def _together(charges: Sequence[Charge]) -> Cost:
    return reduce(Cost.__add__, (charge.cost for charge in charges), NOTHING)


def _totals(book: Ledger, charges: Sequence[Charge]) -> Iterator[PeriodTotal]:
    """Add up the planned releases for each period, those that read all periods included."""
    for period, (left, missing) in book.quote_by_period(charges).items():
        reading = [charge for charge in charges if charge.periods is None or period in charge.periods]
        yield PeriodTotal(period, _together(reading), left, missing)


class _Planned(NamedTuple):
    """A planned release: its name, edition and cost, whether the ledger has or will have its answer, its periods."""

    name: str
    edition: str
    cost: Cost
    is_recorded: bool = False
    periods: tuple[str, ...] | None = None


def _read(file: Path) -> dict[str, object]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"), parse_float=str)
    except OSError as problem:
        raise UnreadableFile(f"it cannot be read: {problem.strerror or type(problem).__name__}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise UnreadableFile(f"it is not TOML: {problem}.", "Texts stand in quotes.") from None
    if content.get("format") != FORMAT or content.get("version", 1) != 1:
        raise UnreadableFile("it is not a budget plan.", f'Its first line is: format = "{FORMAT}"')
    _refuse_unknown(content, _KEYS)
    return content


def _refuse_unknown(content: Mapping[str, object], keys: Sequence[str]) -> None:
    for key in content:
        if key not in keys:
            near = nearest(key, keys)
            suggestion = f"Did you mean {near}? " if near else ""
            raise InvalidInput(f"there is no key {key!r} here.", f"{suggestion}It has {', '.join(keys)}.")


def _ledger_of(content: Mapping[str, object], folder: Path) -> str:
    ledger = content.get("ledger")
    if not isinstance(ledger, str) or not ledger:
        raise InvalidInput("the ledger is missing.", 'Write it as: ledger = "study.ledger"', argument="ledger")
    return resolve_location(ledger, "ledger", folder, "a budget plan")


def _planned(entries: object, folder: Path, book: Ledger) -> Iterator[_Planned]:
    """Read the releases of a plan, each edition and each repetition by itself."""
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, Mapping) for entry in entries):
        raise InvalidInput("the releases are missing.", _EXAMPLE, argument="releases")
    keys: set[str] = set()
    for number, entry in enumerate(entries, 1):
        try:
            if ("request" in entry) == ("epsilon" in entry):
                raise InvalidInput("it needs a request or an epsilon.", _EXAMPLE)
            yield from _of_request(entry, folder, book, keys) if "request" in entry else _of_cost(entry, number, book)
        except DiscreetError as problem:
            raise type(problem).because(f"release {number}", problem) from None


def _of_cost(entry: Mapping[str, object], number: int, book: Ledger) -> Iterator[_Planned]:
    """Read a release that is known by its cost alone."""
    _refuse_unknown(entry, _COST_KEYS)
    name, times = entry.get("name", f"release {number}"), entry.get("times", 1)
    if not isinstance(name, str) or not name.isprintable():
        raise WrongType.must_be("name", "a text", name)
    if type(times) is not int or not 1 <= times <= _MAX_REPETITIONS:
        raise InvalidInput.must_be("times", f"a whole number from 1 to {_MAX_REPETITIONS:,}", times)
    cost = Cost(read_epsilon(entry["epsilon"]), as_fraction(entry.get("delta", 0), "delta"))
    book.terms.charge(cost)  # refuses a cost that this ledger cannot add up
    periods = book.terms.read_periods(entry.get("periods"))
    yield from [_Planned(name, "", cost, periods=periods)] * times


def _of_request(entry: Mapping[str, object], folder: Path, book: Ledger, keys: set[str]) -> Iterator[_Planned]:
    """Plan a request, for each of its editions. ``keys`` are those of the releases before it, which are then free."""
    _refuse_unknown(entry, _REQUEST_KEYS)
    request, editions = entry["request"], entry.get("editions", [None])
    if not isinstance(request, str):
        raise WrongType.must_be("request", "the name of a request file", request)
    for edition in read_list(editions, "editions", "names"):
        plan = _plan(str(folder / request), {} if edition is None else {"edition": edition})
        refuse_other_account(plan, book)
        book.terms.charge(plan.cost)
        is_recorded = plan.key in keys or recorded_answer(plan, book) is not None
        keys.add(plan.key)
        yield _Planned(request, plan.edition, plan.cost, is_recorded, plan.periods)


def _plan(file: str, changed: Mapping[str, object]) -> Plan:
    """Return the plan of a request file; the data need not exist yet."""
    request = open_request(file, **changed)
    if request.dataset is not None:
        dataset, fields = Dataset.open(request.dataset), dict(request.fields)
        if request.data is not None:
            dataset = dataset.with_data(request.data, edition=str(fields.pop("edition", "")))
        bound = dataset.plan(request.questions, **fields)  # type: ignore[arg-type]  # the plan reads every field
        return bound.plan
    if request.data is None:
        raise InvalidInput("the request names no data.", 'Write it there as: data = "visits.csv"', argument="data")
    return plan_release(request.request, data=request.data)
