"""What a comparison of editions says: the picture, a table for each pair of editions, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from ...exact.rationals import exp_bounds
from ...ledger.budget import NOTHING, Cost, short
from ...plots.counts import label
from ...plots.editions import MAX_LINES, MAX_PANELS
from ...privacy.relations import RELATIONS
from ...report import Bullets, Fact, Json, Part, Picture, Prose, Report, Section, Table
from ...unit import Unit
from ...wording import listed, percent, plural, rounded
from ..plan.describing import cost_in_words

if TYPE_CHECKING:
    from .compare import EditionComparison

#: A page has so many tables; the JSON has them all.
_MOST_TABLES = 12

_LONGEST_LABEL = 200

UNDETERMINED = "undetermined"


def comparison_report(found: EditionComparison, most: int) -> Report:
    """The report of a comparison, with at most so many rows for each pair of editions."""
    level = percent(found.level, 6)
    return Report(
        found.title,
        kind=f"Editions compared: {listed(list(found.names))}",
        facts=_facts(found),
        sections=(
            *(section for k in range(min(len(found.tables), _MOST_TABLES)) for section in _table(found, k, most)),
            Section("How to read the changes", (Bullets(tuple(_reading(found, level))),)),
        ),
    )


def _facts(found: EditionComparison) -> tuple[Fact, ...]:
    beyond, looked, chance = _beyond_noise(found)
    costs = costs_by_relation(found)
    whole = under_substitution(found) if len(costs) > 1 else next(iter(costs.values()))
    delta = f", with δ = {short(whole.delta, up=True, digits=3)}" if whole.delta else ""
    what = "" if len(costs) == 1 else "the values of "
    return (
        Fact(f"{len(found.names)}", "editions"),
        Fact(
            f"{beyond:,} of {looked:,}",
            f"changes are larger than the noise explains; up to {chance} would be so by chance, on average",
        ),
        Fact(f"ε = {short(whole.epsilon, up=True)}", f"for {what}{_who(found).a} that is in every edition{delta}"),
    )


def costs_by_relation(found: EditionComparison) -> dict[str, Cost]:
    """Return what all editions cost somebody who is in every one, apart for each neighbour relation."""
    costs: dict[str, Cost] = {}
    for release in found.releases:
        relation = release.plan.protection.relation
        costs[relation] = costs.get(relation, NOTHING) + release.cost
    return costs


def under_substitution(found: EditionComparison) -> Cost:
    """Return what all editions cost under substitution: leaving and joining are two steps of add-remove.

    Two steps of (epsilon, delta) are ``(2 epsilon, (1 + e^epsilon) delta)``, edition by edition. The other way round
    nothing follows: substitution does not hide how many there are.
    """
    whole = NOTHING
    for release in found.releases:
        cost = release.cost
        if RELATIONS[release.plan.protection.relation].hides_presence:
            cost = Cost(2 * cost.epsilon, min(Fraction(1), cost.delta * (1 + exp_bounds(cost.epsilon)[1])))
        whole += cost
    return whole


def _who(found: EditionComparison) -> Unit:
    return found.releases[0].plan.protection.who


def _beyond_noise(found: EditionComparison) -> tuple[int, int, str]:
    """How many changes the noise does not explain, of how many, and how many would be so if nothing had changed."""
    beyond = sum(int(change.beyond_noise.sum()) for pairs in found.changes for change in pairs)
    looked = sum(int(change.comparable.sum()) for pairs in found.changes for change in pairs)
    return beyond, looked, rounded(looked * (1 - found.level))


def editions_picture(found: EditionComparison, table: int) -> Picture:
    """The counts of every edition; of a large table those of the first groups."""
    rows = found.series(table, MAX_LINES * MAX_PANELS)
    size = found.tables[table][0].counts.size
    cut = (f"The first {MAX_LINES * MAX_PANELS} of {size:,} counts.",) if size > MAX_LINES * MAX_PANELS else ()
    level = percent(found.releases[0].plan.level, 6)
    numbers = {
        "rows": rows, "by": found.keys(table), "title": found.tables[table][0].table.title, "sentences": cut,
        "level": level,
    }  # fmt: skip
    return Picture("editions", numbers, f"Every edition. Each line through a dot is the {level} interval of the count.")


def _table(found: EditionComparison, table: int, most: int) -> Iterator[Section]:
    many = len(found.tables) > 1
    yield Section(found.tables[table][0].table.title if many else "", (editions_picture(found, table),))
    rows, size = found.rows(table, most), found.tables[table][0].counts.size
    shown = len(rows) // len(found.pairs)
    for k, (a, b) in enumerate(found.pairs):
        own = rows[k * shown : (k + 1) * shown]
        beside = (*_disagreeing(own), *_total(found, a, b, table))
        parts: tuple[Part, ...] = (_changes(found, table, own, size), *beside)
        yield Section(f"From {found.names[a]} to {found.names[b]}", parts)


def _changes(found: EditionComparison, table: int, rows: list[dict[str, Json]], size: int) -> Table:
    keys, level = found.keys(table), percent(found.level, 6)
    headings = (*keys, "before", "after", "change", f"{level} interval", "growth", f"{level} interval")
    cells = []
    for row in rows:
        group = row["group"]
        assert isinstance(group, Mapping)
        cells.append((*(label(group[key], _LONGEST_LABEL) for key in keys), *_figures(row)))
    numbers = tuple(range(len(keys), len(headings)))
    return Table(headings, tuple(cells), numbers=numbers, strong=(len(keys) + 2,), total=size)


def _disagreeing(rows: list[dict[str, Json]]) -> Iterator[Prose]:
    """One sentence where a change is larger than the noise explains and its growth does not seem to be."""
    if any(_excludes_zero(row["low"], row["high"]) and _includes_zero(row) for row in rows):
        yield Prose(
            "Where the interval of a change excludes 0 and that of its growth does not, go by the change: growth "
            "allows for the error of both editions apart, so its interval is wider.",
            tone="note",
        )


def _excludes_zero(low: Json, high: Json) -> bool:
    return (isinstance(low, int) and low > 0) or (isinstance(high, int) and high < 0)


def _includes_zero(row: Mapping[str, Json]) -> bool:
    low, high = row["growth_low"], row["growth_high"]
    above = high is None or (isinstance(high, int | float) and high >= 0)
    return row["growth"] is not None and isinstance(low, int | float) and low <= 0 and above


def _figures(row: Mapping[str, Json]) -> tuple[str, ...]:
    before, after = (f"{row[name]:,}" if row[name] is not None else "–" for name in ("earlier", "later"))
    if row["difference"] is None:
        return before, after, "–", "–", "–", "–"
    growth, ends = UNDETERMINED, "–"
    if row["growth"] is not None:
        growth, ends = _percentage(row["growth"]), _ends(row["growth_low"], row["growth_high"], _percentage)
    return before, after, _signed(row["difference"]), _ends(row["low"], row["high"], _signed), growth, ends


def _signed(value: object) -> str:
    assert isinstance(value, int | float)
    return f"{value:+,}" if value else "0"


def _percentage(value: object) -> str:
    assert isinstance(value, int | float)
    return f"{value:+,.1f}%" if abs(value) < 1000 else f"{value:+,.0f}%"


def _ends(low: Json, high: Json, written: object) -> str:
    assert callable(written)
    if low is None or high is None:
        return "no bound" if low == high else f"{written(high)} or less" if low is None else f"{written(low)} or more"
    return f"{written(low)} to {written(high)}"


def _total(found: EditionComparison, earlier: int, later: int, table: int) -> Iterator[Prose]:
    first = found.tables[table][0].table
    if first.groups.size < 2:
        return
    for k, measure in enumerate(found.tables[table][0].totaled_measures):
        total = found.total(earlier, later, table, k)
        what = f" ({label(measure)})" if len(first.measures) > 1 else ""
        if total is None:
            said = "unknown, because a count is suppressed."
        else:
            ends = _ends(total.low, total.high, _signed)
            said = f"{_signed(total.estimate)} ({percent(total.level, 6)} interval {ends})."
        yield Prose(f"All groups together{what}: {said}", tone="note")


def _reading(found: EditionComparison, level: str) -> Iterator[str]:
    beyond, looked, chance = _beyond_noise(found)
    yield (
        f"Each interval contains the change of the true counts at least {level} of the time, whatever they are. The "
        "noise of the editions is independent; both noises are in the interval."
    )
    yield (
        "A change whose interval includes 0 can be noise alone. "
        f"Of {plural(looked, 'such interval')} a few miss: {percent(1 - found.level, 6)} of them at most, on average."
    )
    yield (
        f"The noise does not explain {beyond:,} of {plural(looked, 'change')}. If no true count had changed, up to "
        f"{chance} would be so by chance, on average."
    )
    yield (
        f"Growth is {UNDETERMINED} where the earlier count may be less than half of the published one: a percentage "
        "of so uncertain a number says nothing."
    )
    costs, who = costs_by_relation(found), _who(found)
    if not who.is_row:
        yield (
            f"The contribution bound is the same in every edition. Rows of {who.a} that it leaves out are missing from "
            "both counts."
        )
    if len(costs) == 1:
        (whole,) = costs.values()
        yield f"The privacy of the editions adds up: {cost_in_words(whole)} for {who.a} that is in every one of them."
    else:
        each = listed([f"{cost_in_words(cost)} under {relation}" for relation, cost in costs.items()])
        yield (
            f"The editions have different neighbouring tables: {each}. These do not add up as they stand. For {who.a} "
            f"that is in every edition they are {cost_in_words(under_substitution(found))} under substitution; under "
            "add-remove nothing is guaranteed for all of them together."
        )
    yield "A ledger keeps the sum of the releases that it paid for, and knows of no others."
