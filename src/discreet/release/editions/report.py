"""The report XX: the picture, a table for each pair, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from ...exact.rationals import exp_bounds
from ...ledger.budget import NOTHING, Cost, short
from ...plots.counts import label
from ...plots.editions import MAX_LINES, MAX_PANELS
from ...plots.growth import MAX_GROUPS
from ...privacy.relations import RELATIONS
from ...report import Bullets, Fact, Json, Part, Picture, Prose, Report, Section, TextTable
from ...unit import Unit
from ...wording import listed, percent, plural
from ..plan.report import cost_in_words

if TYPE_CHECKING:
    from .compare import EditionComparison

#: Maximum number of tables on a page; the JSON has them all.
_MAX_TABLES = 12

#: Maximum number of characters of a value in a table.
_MAX_LABEL_CHARACTERS = 200

#: Mark of a change that noise does not explain, in addition to the emphasis on a page.
_MARK = "* "


def comparison_report(result: EditionComparison, most: int) -> Report:
    """XX, with at most ``most`` rows for each pair of editions."""
    level = percent(result.level, 6)
    return Report(
        result.title,
        kind=f"Editions compared: {listed(list(result.names))}",
        facts=_facts(result),
        sections=(
            *(section for k in range(min(len(result.tables), _MAX_TABLES)) for section in _table(result, k, most)),
            Section("How to read the changes", (Bullets(tuple(reading_sentences(result, level))),)),
        ),
    )


def _facts(result: EditionComparison) -> tuple[Fact, ...]:
    beyond, total = _beyond_noise(result)
    costs = costs_by_relation(result)
    whole = under_substitution(result) if len(costs) > 1 else next(iter(costs.values()))
    delta = f", with δ = {short(whole.delta, up=True, digits=3)}" if whole.delta else ""
    what = "" if len(costs) == 1 else "the values of "
    return (
        Fact(f"{len(result.names)}", "editions"),
        Fact(
            f"{beyond:,} of {total:,}",
            f"changes are larger than the noise explains, all judged together at {percent(result.level, 6)}",
        ),
        Fact(f"ε = {short(whole.epsilon, up=True)}", f"for {what}{_who(result).a} that is in every edition{delta}"),
    )


def costs_by_relation(result: EditionComparison) -> dict[str, Cost]:
    """Return the cost of all editions for a unit that is in every one, by neighbour relation."""
    costs: dict[str, Cost] = {}
    for release in result.releases:
        relation = release.plan.protection.relation
        costs[relation] = costs.get(relation, NOTHING) + release.cost
    return costs


def under_substitution(result: EditionComparison) -> Cost:
    """Return the cost of all editions under substitution, which is two steps of add-remove: leaving and joining.

    Two steps of (epsilon, delta) are ``(2 epsilon, (1 + e^epsilon) delta)``, edition by edition. Nothing follows in
    the other direction: substitution does not hide the number of units.
    """
    whole = NOTHING
    for release in result.releases:
        cost = release.cost
        if RELATIONS[release.plan.protection.relation].hides_presence:
            cost = Cost(2 * cost.epsilon, min(Fraction(1), cost.delta * (1 + exp_bounds(cost.epsilon)[1])))
        whole += cost
    return whole


def _who(result: EditionComparison) -> Unit:
    return result.releases[0].plan.protection.who


def _beyond_noise(result: EditionComparison) -> tuple[int, int]:
    """Return how many changes noise does not explain, judged together, and the number of changes."""
    beyond = sum(int(marks.sum()) for pairs in result.beyond_noise for marks in pairs)
    return beyond, sum(int(change.comparable.sum()) for pairs in result.changes for change in pairs)


def editions_picture(result: EditionComparison, table: int) -> Picture:
    """Picture the counts of every edition; for a large table, those of the first groups."""
    rows = result.series_for_people(table, MAX_LINES * MAX_PANELS)
    size = result.tables[table][0].counts.size
    cut = (f"The first {MAX_LINES * MAX_PANELS} of {size:,} counts.",) if size > MAX_LINES * MAX_PANELS else ()
    level = percent(result.releases[0].plan.level, 6)
    numbers = {
        "rows": rows, "by": result.keys(table), "title": _picture_title(result, table), "sentences": cut,
        "level": level,
    }  # fmt: skip
    return Picture("editions", numbers, f"Every edition. Each line through a dot is the {level} interval of the count.")


def growth_picture(result: EditionComparison, table: int, rows: list[dict[str, Json]] | None = None) -> Picture:
    """Picture the growth of every count; for a large table, that of the first groups."""
    level = percent(result.level, 6)
    numbers = {
        "rows": result.rows_for_people(table, MAX_GROUPS) if rows is None else rows, "by": result.keys(table),
        "title": f"Growth: {_picture_title(result, table)}", "sentences": (), "level": level,
    }  # fmt: skip
    caption = f"Growth in percent. Each line is its {level} interval; an arrow marks one that goes on."
    return Picture("growth", numbers, caption)


def _picture_title(result: EditionComparison, table: int) -> str:
    """Return the title of a picture: each edition may have a table name of its own, so it names the data set."""
    return result.title if len(result.tables) == 1 else result.tables[table][0].table.title


def _table(result: EditionComparison, table: int, most: int) -> Iterator[Section]:
    many = len(result.tables) > 1
    rows, size = result.rows_for_people(table, most), result.tables[table][0].counts.size
    pictures = [editions_picture(result, table)]
    if any(row["growth_low"] is not None for row in rows):
        pictures.append(growth_picture(result, table, rows))
    yield Section(result.tables[table][0].table.title if many else "", tuple(pictures))
    rows_per_pair = len(rows) // len(result.pairs)
    for k, (a, b) in enumerate(result.pairs):
        pair_rows = rows[k * rows_per_pair : (k + 1) * rows_per_pair]
        parts: tuple[Part, ...] = (_changes(result, table, pair_rows, size), *_total(result, a, b, table))
        yield Section(f"From {result.names[a]} to {result.names[b]}", parts)


def _changes(result: EditionComparison, table: int, rows: list[dict[str, Json]], size: int) -> TextTable:
    keys, level = result.keys(table), percent(result.level, 6)
    headings = (*keys, "before", "after", "change", f"{level} interval", "growth", f"{level} interval")
    cells = []
    for row in rows:
        group = row["group"]
        assert isinstance(group, Mapping)
        cells.append((*(label(group[key], _MAX_LABEL_CHARACTERS) for key in keys), *_figures(row)))
    numbers = tuple(range(len(keys), len(headings)))
    emphasised = tuple(k for k, row in enumerate(rows) if row["beyond_noise"])
    return TextTable(
        headings, tuple(cells), numbers=numbers, strong=(len(keys) + 2,), total=size, emphasised=emphasised
    )  # fmt: skip


def _figures(row: Mapping[str, Json]) -> tuple[str, ...]:
    before, after = (f"{row[name]:,}" if row[name] is not None else "–" for name in ("earlier", "later"))
    if row["difference"] is None:
        return before, after, "–", "–", "–", "–"
    growth = "–" if row["growth"] is None else percentage_in_words(row["growth"])
    ends = "–" if row["growth_low"] is None else _ends(row["growth_low"], row["growth_high"], percentage_in_words)
    change = f"{_MARK if row['beyond_noise'] else ''}{_signed(row['difference'])}"
    return before, after, change, _ends(row["low"], row["high"], _signed), growth, ends


def _signed(value: object) -> str:
    assert isinstance(value, int | float)
    return f"{value:+,}" if value else "0"


def percentage_in_words(value: object) -> str:
    """Return growth in percent with its sign, unless it rounds to nothing."""
    assert isinstance(value, int | float)
    text = f"{value:+,.1f}%" if abs(value) < 1000 else f"{value:+,.0f}%"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def _ends(low: Json, high: Json, show: object) -> str:
    assert callable(show)
    if low is None or high is None:
        return "no bound" if low == high else f"{show(high)} or less" if low is None else f"{show(low)} or more"
    return f"{show(low)} to {show(high)}"


def _total(result: EditionComparison, earlier: int, later: int, table: int) -> Iterator[Prose]:
    first = result.tables[table][0].table
    if first.groups.size < 2:
        return
    for k, measure in enumerate(result.tables[table][0].totaled_measures):
        total = result.total(earlier, later, table, k)
        what = f" ({label(measure)})" if len(first.measures) > 1 else ""
        if total is None:
            change = "unknown, because a count is suppressed."
        else:
            ends = _ends(total.low, total.high, _signed)
            change = f"{_signed(total.estimate)} ({percent(total.level, 6)} interval {ends})."
        yield Prose(f"All groups together{what}: {change}", tone="note")


def reading_sentences(result: EditionComparison, level: str) -> Iterator[str]:
    """Yield sentences on how to read the changes; ``level`` is the coverage as text."""
    beyond, total = _beyond_noise(result)
    yield (
        f"Each interval contains the change of the true counts at least {level} of the time, whatever they are. The "
        "noise of the editions is independent; both noises are in the interval."
    )
    if any(editions[0].table.rounding_in_words("") for editions in result.tables):
        yield (
            "Counts, changes and growth are shown for the rounded counts, as on the page of each edition, so that they "
            "add up. The intervals are those of the unrounded combined counts, which the JSON has for programs."
        )
    yield (
        "A change whose interval includes 0 can be noise alone. "
        f"Of {plural(total, 'such interval')} a few miss: {percent(1 - result.level, 6)} of them at most, on average."
    )
    yield (
        f"The noise does not explain {beyond:,} of {plural(total, 'change')}, marked *. They are judged together: the "
        f"probability that one or more of a table's marked changes is noise alone is at most "
        f"{percent(1 - result.level, 6)}, whatever the true counts are. An unmarked change can be real."
    )
    yield (
        f"Growth has a {level} interval for every count, however small: it has no upper end where the earlier count "
        "may be zero. It can include 0 where the interval of the change does not; then go by the change."
    )
    costs, who = costs_by_relation(result), _who(result)
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
            f"that is in every edition they are {cost_in_words(under_substitution(result))} under substitution; "
            "under add-remove nothing is guaranteed for all of them together."
        )
    yield "A ledger keeps the sum of the releases that it paid for, and knows of no others."
