"""The report of a comparison of editions: the picture, a table for each pair, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from ...exact.rationals import exp_bounds
from ...ledger.budget import NOTHING, Cost, short
from ...plots.counts import label
from ...plots.editions import MOST_LINES, MOST_PANELS
from ...privacy.relations import RELATIONS
from ...report import Bullets, Fact, Json, Part, Picture, Prose, Report, Section, Table
from ...unit import Unit
from ...wording import listed, percent, plural, rounded
from ..plan.describing import cost_in_words

if TYPE_CHECKING:
    from .compare import EditionComparison

#: Maximum number of tables on a page; the JSON has them all.
_MAX_TABLES = 12

#: Maximum number of characters of a value in a table.
_MAX_LABEL_CHARACTERS = 200

_UNDETERMINED = "undetermined"


def comparison_report(comparison: EditionComparison, most: int) -> Report:
    """Report a comparison, with at most ``most`` rows for each pair of editions."""
    level = percent(comparison.level, 6)
    return Report(
        comparison.title,
        kind=f"Editions compared: {listed(list(comparison.names))}",
        facts=_facts(comparison),
        sections=(
            *(
                section
                for k in range(min(len(comparison.tables), _MAX_TABLES))
                for section in _table(comparison, k, most)
            ),
            Section("How to read the changes", (Bullets(tuple(_reading(comparison, level))),)),
        ),
    )


def _facts(comparison: EditionComparison) -> tuple[Fact, ...]:
    beyond, changes, chance = _beyond_noise(comparison)
    costs = costs_by_relation(comparison)
    whole = under_substitution(comparison) if len(costs) > 1 else next(iter(costs.values()))
    delta = f", with δ = {short(whole.delta, up=True, digits=3)}" if whole.delta else ""
    what = "" if len(costs) == 1 else "the values of "
    return (
        Fact(f"{len(comparison.names)}", "editions"),
        Fact(
            f"{beyond:,} of {changes:,}",
            f"changes are larger than the noise explains; up to {chance} would be so by chance, on average",
        ),
        Fact(f"ε = {short(whole.epsilon, up=True)}", f"for {what}{_who(comparison).a} that is in every edition{delta}"),
    )


def costs_by_relation(comparison: EditionComparison) -> dict[str, Cost]:
    """Return the cost of all editions for a unit that is in every one, by neighbour relation."""
    costs: dict[str, Cost] = {}
    for release in comparison.releases:
        relation = release.plan.protection.relation
        costs[relation] = costs.get(relation, NOTHING) + release.cost
    return costs


def under_substitution(comparison: EditionComparison) -> Cost:
    """Return the cost of all editions under substitution, which is two steps of add-remove: leaving and joining.

    Two steps of (epsilon, delta) are ``(2 epsilon, (1 + e^epsilon) delta)``, edition by edition. Nothing follows in
    the other direction: substitution does not hide the number of units.
    """
    whole = NOTHING
    for release in comparison.releases:
        cost = release.cost
        if RELATIONS[release.plan.protection.relation].hides_presence:
            cost = Cost(2 * cost.epsilon, min(Fraction(1), cost.delta * (1 + exp_bounds(cost.epsilon)[1])))
        whole += cost
    return whole


def _who(comparison: EditionComparison) -> Unit:
    return comparison.releases[0].plan.protection.who


def _beyond_noise(comparison: EditionComparison) -> tuple[int, int, str]:
    """Return how many changes exceed the noise, the number of changes, and how many would exceed it by chance."""
    beyond = sum(int(change.beyond_noise.sum()) for pairs in comparison.changes for change in pairs)
    changes = sum(int(change.seen.sum()) for pairs in comparison.changes for change in pairs)
    return beyond, changes, rounded(changes * (1 - comparison.level))


def editions_picture(comparison: EditionComparison, table: int) -> Picture:
    """Picture the counts of every edition; for a large table, those of the first groups."""
    rows = comparison.series(table, MOST_LINES * MOST_PANELS)
    size = comparison.tables[table][0].counts.size
    cut = (f"The first {MOST_LINES * MOST_PANELS} of {size:,} counts.",) if size > MOST_LINES * MOST_PANELS else ()
    level = percent(comparison.releases[0].plan.level, 6)
    numbers = {
        "rows": rows, "by": comparison.keys(table), "title": comparison.tables[table][0].table.title, "sentences": cut,
        "level": level,
    }  # fmt: skip
    return Picture("editions", numbers, f"Every edition. Each line through a dot is the {level} interval of the count.")


def _table(comparison: EditionComparison, table: int, most: int) -> Iterator[Section]:
    many = len(comparison.tables) > 1
    yield Section(comparison.tables[table][0].table.title if many else "", (editions_picture(comparison, table),))
    rows, size = comparison.rows(table, most), comparison.tables[table][0].counts.size
    rows_per_pair = len(rows) // len(comparison.pairs)
    for k, (a, b) in enumerate(comparison.pairs):
        pair_rows = rows[k * rows_per_pair : (k + 1) * rows_per_pair]
        notes = (*_disagreeing(pair_rows), *_total(comparison, a, b, table))
        parts: tuple[Part, ...] = (_changes(comparison, table, pair_rows, size), *notes)
        yield Section(f"From {comparison.names[a]} to {comparison.names[b]}", parts)


def _changes(comparison: EditionComparison, table: int, rows: list[dict[str, Json]], size: int) -> Table:
    keys, level = comparison.keys(table), percent(comparison.level, 6)
    headings = (*keys, "before", "after", "change", f"{level} interval", "growth", f"{level} interval")
    cells = []
    for row in rows:
        group = row["group"]
        assert isinstance(group, Mapping)
        cells.append((*(label(group[key], _MAX_LABEL_CHARACTERS) for key in keys), *_figures(row)))
    numbers = tuple(range(len(keys), len(headings)))
    return Table(headings, tuple(cells), numbers=numbers, strong=(len(keys) + 2,), total=size)


def _disagreeing(rows: list[dict[str, Json]]) -> Iterator[Prose]:
    """Explain a change whose interval excludes 0 while that of its growth does not."""
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
    growth, ends = _UNDETERMINED, "–"
    if row["growth"] is not None:
        growth, ends = _percentage(row["growth"]), _ends(row["growth_low"], row["growth_high"], _percentage)
    return before, after, _signed(row["difference"]), _ends(row["low"], row["high"], _signed), growth, ends


def _signed(value: object) -> str:
    assert isinstance(value, int | float)
    return f"{value:+,}" if value else "0"


def _percentage(value: object) -> str:
    assert isinstance(value, int | float)
    return f"{value:+,.1f}%" if abs(value) < 1000 else f"{value:+,.0f}%"


def _ends(low: Json, high: Json, number_text: object) -> str:
    assert callable(number_text)
    if low is None or high is None:
        return (
            "no bound"
            if low == high
            else f"{number_text(high)} or less"
            if low is None
            else f"{number_text(low)} or more"
        )
    return f"{number_text(low)} to {number_text(high)}"


def _total(comparison: EditionComparison, earlier: int, later: int, table: int) -> Iterator[Prose]:
    first = comparison.tables[table][0].table
    if first.groups.size < 2:
        return
    for k, measure in enumerate(comparison.tables[table][0].totaled_measures):
        total = comparison.total(earlier, later, table, k)
        what = f" ({label(measure)})" if len(first.measures) > 1 else ""
        if total is None:
            change = "unknown, because a count is suppressed."
        else:
            ends = _ends(total.low, total.high, _signed)
            change = f"{_signed(total.estimate)} ({percent(total.level, 6)} interval {ends})."
        yield Prose(f"All groups together{what}: {change}", tone="note")


def _reading(comparison: EditionComparison, level: str) -> Iterator[str]:
    beyond, changes, chance = _beyond_noise(comparison)
    yield (
        f"Each interval contains the change of the true counts at least {level} of the time, whatever they are. The "
        "noise of the editions is independent; both noises are in the interval."
    )
    yield (
        "A change whose interval includes 0 can be noise alone. "
        f"Of {plural(changes, 'such interval')} a few miss: {percent(1 - comparison.level, 6)} of them at most, on "
        "average."
    )
    yield (
        f"The noise does not explain {beyond:,} of {plural(changes, 'change')}. If no true count had changed, up to "
        f"{chance} would be so by chance, on average."
    )
    yield (
        f"Growth is {_UNDETERMINED} where the earlier count may be less than half of the published one: a percentage "
        "of so uncertain a number says nothing."
    )
    costs, who = costs_by_relation(comparison), _who(comparison)
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
            f"that is in every edition they are {cost_in_words(under_substitution(comparison))} under substitution; "
            "under add-remove nothing is guaranteed for all of them together."
        )
    yield "A ledger keeps the sum of the releases that it paid for, and knows of no others."
