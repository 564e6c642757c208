"""The report of a plan, and the sentences that it shares with the guarantee of a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ...exact.rationals import bound_up, text_up
from ...explanation import Explanation, explain, fold
from ...ledger.budget import Cost, exact_text, short
from ...periods import Per
from ...privacy.certificate import Certificate
from ...privacy.relations import RELATIONS
from ...questions.joins.clauses import dates_in_words
from ...report import Fact, Prose, Report, Section, Terms, TextTable
from ...unit import Unit
from ...wording import listed, noun, percent, plural

if TYPE_CHECKING:
    from ...questions.joins.lookups import Lookup
    from ..tables.table import TablePlan
    from .plan import Plan

#: Prior beliefs of a reader, as probabilities.
_PRIORS = ("1/100", "1/10", "1/2")

#: Granularity -> the first day of a period and of the next, for an example.
EXAMPLE_SPANS = {
    "day": ("2025-03-14", "2025-03-15"), "week": ("2025-03-10", "2025-03-17"), "month": ("2025-03-01", "2025-04-01"),
    "quarter": ("2025-01-01", "2025-04-01"), "year": ("2025-01-01", "2026-01-01"),
}  # fmt: skip

#: Maximum number of tables whose question a report puts in words; the plan itself lists them all.
_MAX_WORDED_QUESTIONS = 12


def plan_report(plan: Plan, guarantee: bool = True) -> Report:
    """Report a plan: the questions, the cells, the noise, the error of each cell, the cost, the guarantee."""
    questions = [Prose(question_in_words(plan, table), tone="lead") for table in plan.tables[:_MAX_WORDED_QUESTIONS]]
    words = [("guarantee" if k == 0 else "", sentence) for k, sentence in enumerate(plan.guarantee)]
    sections = [
        Section(parts=tuple(questions), depth="pages"),
        Section(parts=(Terms((*_lines(plan), *(words if guarantee else ()))),)),
    ]
    if guarantee:
        sections += learning(plan)
    sections.append(_exact(plan))
    return Report(
        f"Plan of a release: {plan.lead.number_in_words(plan.cells)} of {dataset_in_words(plan)}",
        kind="Nothing was read, nothing was spent",
        facts=plan_facts(plan),
        sections=tuple(sections),
        notes=plan.notes,
    )


def _lines(plan: Plan) -> list[tuple[str, str]]:
    lines = [("data", dataset_in_words(plan))]
    if (per := plan.protection.per) is not None:
        lines.append(("periods", _charged_in_words(plan, per)))
    for table, expected in zip(plan.tables, plan.expected, strict=True):
        share = "" if len(plan.tables) == 1 else f" ({float(table.share):.3g} of epsilon)"
        lines += [
            ("question", table.question.text),
            *(
                [("joined on", dates_in_words(table.question, per))]
                if per is not None and table.question.tables
                else []
            ),
            *(("look-up", lookup_in_words(one)) for one in table.question.lookups if one.join is not None),
            ("cells", f"{table.shape_text}{share}"),
            *table.noise_lines,
            ("error", f"{expected}"),
        ]
        if table.suppress_below is not None:
            lines.append(("withheld", f"noisy counts below {table.suppress_below}"))
    if (counted := _counted_in_words(plan)) is not None:
        lines.insert(1, ("counted", counted))
    if plan.other_caps:
        lines.append(("other caps", _caps_in_words(plan)))
    return [*lines, ("cost", cost_in_words(plan.cost))]


def _charged_in_words(plan: Plan, per: Per) -> str:
    """State which periods the ledger charges, and how to limit a question that is charged to all."""
    if plan.periods is not None:
        return f"the ledger charges {periods_in_words(plan.periods)} by {per.column}"
    first, following = EXAMPLE_SPANS[per.granularity]
    return (
        f"the ledger charges every {per.granularity}; for one alone, write in WHERE: "
        f"{per.column} >= DATE '{first}' AND {per.column} < DATE '{following}'"
    )


def _counted_in_words(plan: Plan) -> str | None:
    """State whether people or rows are counted; None where each row is a unit of its own."""
    who, rows = plan.protection.who, plan.protection.max_rows
    if who.is_row:
        return None
    if rows is None:
        return f"{who.several}, not rows: each at most once in a group (max_rows counts rows)"
    joined = "joined " if any(table.question.tables for table in plan.tables) else ""
    return f"{joined}rows, at most {rows} of one {who.one} in each count of a group"


def _caps_in_words(plan: Plan) -> str:
    """List the error with other caps, or the epsilon where that is what changes."""
    same_cost = all(one.epsilon == plan.cost.epsilon for one in plan.other_caps)
    errors = [
        f"{one.max_rows:,}: "
        + (f"noise ± {one.half_width:,}" if same_cost else f"epsilon {short(Fraction(one.epsilon), up=True)}")
        for one in plan.other_caps
    ]
    return f"with max_rows {'; '.join(errors)}"


def lookup_in_words(lookup: Lookup) -> str:
    """Return the columns that a look-up gives, and the digest of its file."""
    reads = "a whole number" if lookup.reads == "integer" else "a text"
    columns = listed([column.name for column in lookup.columns]) or "no column"
    return f"{columns} from {lookup.file_name}, by {lookup.column} read as {reads}; SHA-256 {lookup.digest[:16]}..."


def dataset_in_words(plan: Plan) -> str:
    """Return the name of the data set, and of its edition if it has one."""
    return f"{plan.dataset}{', edition ' + plan.edition if plan.edition else ''}"


def cost_in_words(cost: Cost) -> str:
    """Return epsilon, and delta where there is one, rounded up."""
    delta = f", delta {short(cost.delta, up=True, digits=3)}" if cost.delta else ""
    return f"epsilon {short(cost.epsilon, up=True)}{delta}"


def plan_facts(plan: Plan) -> tuple[Fact, ...]:
    """Return the key figures of a plan: its privacy, its error and its size."""
    words = explain_cost(plan.cost)
    several = _steps_between_values(plan) > 1
    who = plan.protection.who
    about = f"that one {who.one} is in the table" if several else f"about one {who.one}"
    epsilon = f"ε = {text_up(plan.cost.epsilon, 4)}"
    if plan.cost.delta:
        facts = [Fact(epsilon, f"privacy of the whole release, with δ = {text_up(plan.cost.delta, 3)}")]
    else:
        facts = [
            Fact(f"× {fold(words.odds_ratio)}", f"the most the odds {about} can change"),
            Fact(epsilon, "privacy of the whole release"),
        ]
    widest = max(plan.expected, key=lambda expected: expected.half_width)
    return (
        *facts,
        Fact(f"noise ± {widest.half_width:,}", widest.how_often),
        plan.lead.size_fact(plan.cells),
    )


def question_in_words(plan: Plan, table: TablePlan) -> str:
    """Put the question of a table in words."""
    question = table.question
    who = plan.protection.who
    where = f" with {question.where.text}" if question.where is not None else ""
    by = f", by {listed(question.by)}{table.by_in_words}" if question.by else ""
    rows = plan.protection.max_rows
    counted = who.several if rows is None else "joined rows" if question.tables else "rows"
    tables = listed([question.table, *(one.join.table for one in question.tables)], "and")
    sentence = f"How many {counted} are there in {tables if rows is not None else question.table}{where}{by}?"
    if rows is not None:
        sentence += f" At most {plural(rows, 'row')} of one {who.one} {'is' if rows == 1 else 'are'} in each count."
    conditions = [(one.name, one.condition) for one in question.aggregates]
    if len(conditions) > 1 or conditions[0][1] is not None:
        measures = [f"{name} ({'all' if condition is None else condition.text})" for name, condition in conditions]
        sentence += f" {noun(len(measures), 'Measure')}: {', '.join(measures)}."
    if who.per is not None:
        return f"{sentence} The columns {who.column} and {who.per.column} identify {who.several}."
    return f"{sentence} The column {who.column} identifies {who.several}." if who.name and not who.is_row else sentence


# ------------------------------------------------------------------------------------------------ beliefs


def explain_cost(cost: Cost, prior: str = "1/2", steps: int = 1) -> Explanation:
    """Explain a cost in odds, between tables ``steps`` steps of the neighbour relation apart."""
    certificate = Certificate("central", bound_up(cost.epsilon), bound_up(cost.delta), None, "composed", False)
    return explain(certificate, prior=prior, people=steps)


def _steps_between_values(plan: Plan) -> int:
    """Return the number of steps of the neighbour relation between two values of one unit.

    Under add-remove a unit leaves one group and joins another: two steps, and twice the epsilon. A single count has
    one group, so one step: the unit is counted or not.
    """
    return 2 if RELATIONS[plan.protection.relation].moves == 1 and plan.known_cells != 1 else 1


def odds_in_words(plan: Plan) -> list[str]:
    """Return what readers can learn about one unit: its presence in the table, and its values."""
    unit, present = plan.protection.who, explain_cost(plan.cost)
    who = unit.one
    if math.isinf(present.odds_ratio):
        return [text.replace("that person", f"this {who}") for text in present.sentences[1:]]
    values = explain_cost(plan.cost, steps=_steps_between_values(plan))
    detection = present.sentences[-1].replace("that person", f"this {who}")
    several = _steps_between_values(plan) > 1
    if plan.cost.delta:
        how = f"With or without this {who}" if several else f"With this {who} changed"
        odds = [f"{how}, the probability of any outcome differs by at most {_factor(present)}."]
        if several:
            odds.append(
                f"With other values for this {who}, such as another group, it differs by at most {_factor(values)}."
            )
        return [*odds, detection]
    what = f"that this {who} is in the table" if several else f"of any statement about this {who}"
    odds = [f"For a reader who knows {unit.others}, the odds {what} change at most {fold(present.odds_ratio)}-fold."]
    belief = f"A belief of 50% becomes at most {text_up(100 * present.posterior, 3)}%"
    if several:
        how = "without a useful limit" if math.isinf(values.odds_ratio) else f"at most {fold(values.odds_ratio)}-fold"
        odds.append(f"The odds between two values of this {who}, such as two groups, change {how}.")
        belief += f" (in the table) or {text_up(100 * values.posterior, 3)}% (which value)"
    return [*odds, f"{belief}.", detection]


#: Numbers of units of one person for which the delta is stated.
_UNITS_OF_ONE_PERSON = (2, 5, 10)


def several_units_in_words(cost: Cost, who: Unit) -> str:
    """State the guarantee of a person with k units: ``k epsilon``, and the delta of k steps.

    The delta ``delta (e^(k epsilon) - 1)/(e^epsilon - 1)`` holds for every mechanism (Dwork and Roth 2014, 2.3); that
    of one law of noise may be smaller.

    >>> from fractions import Fraction
    >>> several_units_in_words(Cost(Fraction(1)), Unit("row"))
    'Someone with k rows in the table has k times this epsilon.'
    """
    several = f"{who.with_several} has k times this epsilon"
    if not cost.delta:
        return f"{several}."
    deltas = [f"{text_up(explain_cost(cost, steps=units).delta, 3)} for k = {units}" for units in _UNITS_OF_ONE_PERSON]
    return f"{several} and a larger delta, at most {listed(deltas)}. With a large k nothing is guaranteed."


def units_of_one_person_in_words(plan: Plan) -> list[str]:
    """State the guarantee of someone who is several units: rows, values, or periods.

    Of ``m`` releases that read one period each, epsilons and deltas add up, as each of them sees the rows of one unit.
    A release that reads several periods has ``k epsilon``, the delta of ``k`` steps, and ``k^2 rho``.
    """
    who, cost = plan.protection.who, plan.cost
    if who.per is None:
        return [several_units_in_words(cost, who)]
    granularity = who.per.granularity
    first = f"The unit is a {granularity} of one {who.whole.one}, not all that they have."
    if plan.periods is not None and len(plan.periods) == 1:
        delta = f" and delta {text_up(cost.delta, 3)}" if cost.delta else ""
        many = " and m times this delta" if cost.delta else ""
        return [
            f"{first} This release reads rows of {plan.periods[0]} alone, so its epsilon{delta} holds for all rows of "
            f"one {who.whole.one} too.",
            f"Someone with rows in m {granularity}s, one release for each, has m times this epsilon{many} "
            "in all of them together.",
        ]
    read = ""
    if plan.periods is not None:
        read = f" This release reads rows of {periods_in_words(plan.periods)}, so k is at most {len(plan.periods)}."
    sentences = [f"{first} {several_units_in_words(cost, who)}{read}"]
    if cost.rho is not None and _is_gaussian(plan):
        sentences.append(f"The rho of {who.with_several[0].lower()}{who.with_several[1:]} is k squared times this rho.")
    return sentences


def periods_in_words(periods: Sequence[str]) -> str:
    """Return the names of periods, or the first and the last of many."""
    return listed(periods, "and") if len(periods) <= 4 else f"{len(periods)} periods, {periods[0]} to {periods[-1]}"


def _factor(words: Explanation) -> str:
    return f"a factor of {fold(words.odds_ratio)} plus {text_up(words.delta, 3)}"


def beliefs(plan: Plan) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings, and prior and posterior beliefs; no rows with a delta, which leaves single beliefs unbounded."""
    steps = _steps_between_values(plan)
    headings: tuple[str, ...] = ("belief before", "afterwards, at most")
    if steps > 1:
        headings = ("belief before", "in the table: afterwards, at most", "which value: afterwards, at most")
    if plan.cost.delta:
        return headings, []
    rows = []
    for prior in _PRIORS:
        explanations = [explain_cost(plan.cost, prior, k) for k in range(1, steps + 1)]
        after = (f"{text_up(words.posterior * 100, 3)}%" for words in explanations)
        rows.append((percent(explanations[0].prior, 6), *after))
    return headings, rows


def learning(plan: Plan) -> list[Section]:
    """Return the section on what a reader can learn, for pages; nothing where no bound holds."""
    headings, rows = beliefs(plan)
    table = TextTable(headings, tuple(rows), numbers=tuple(range(len(headings))), compact=True)
    return [Section(f"What a reader can learn about one {plan.protection.who.one}", (table,), "pages")] if rows else []


def _is_gaussian(plan: Plan) -> bool:
    return any("sigma2" in one.parameters for table in plan.tables for one in table.noise.mechanisms)


def _exact(plan: Plan) -> Section:
    cost = plan.cost
    # pure noise has a rho too, which says nothing to somebody who asked for an epsilon
    parameters = {"epsilon": cost.epsilon, "delta": cost.delta, "rho": cost.rho if _is_gaussian(plan) else None}
    terms = [(name, exact_text(value)) for name, value in parameters.items() if value is not None]
    terms += [("mechanism", table.noise_text) for table in plan.tables[:_MAX_WORDED_QUESTIONS]]
    return Section("Exact numbers", (Terms(tuple(terms)),), "folded")
