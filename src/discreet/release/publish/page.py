"""What people read in a bundle: one page that needs no network and no script, and the guarantee in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ...exact.rationals import bound_up, text_up
from ...explanation import Explanation, explain
from ...ledger.budget import short
from ...pages.frame import Ruler, drawing, facts, page, text
from ...plots.chart import printable
from ...plots.counts import label
from ...privacy.certificate import Certificate
from ...wording import listed, noun, percent
from .tables import (
    ERROR_COLUMNS,
    IMPOSSIBLE,
    NORMAL,
    STATUS_MEANING,
    SUPPRESSED,
    ReleasedTable,
)

if TYPE_CHECKING:
    from .released import Release

#: A page shows this many cells of a table, of so many tables; the CSV files have them all.
MOST_CELLS, MOST_TABLES = 500, 12

#: What an attacker may have believed beforehand.
_PRIORS = ("1/100", "1/10", "1/2")


def page_html(release: Release, pictures: Sequence[str] | None = None) -> str:
    """The page as one HTML text.

    Parameters
    ----------
    release
        What to show.
    pictures
        What :func:`drawn` gives, if it is there already.
    """
    shown = release.tables[:MOST_TABLES]
    pictures = drawn(release) if pictures is None else pictures
    sections = "".join(_section(release, k, picture) for k, picture in zip(range(len(shown)), pictures, strict=True))
    more = len(release.tables) - len(shown)
    left_out = f"<p>{more} more tables are in the CSV files.</p>" if more else ""
    body = f"{sections}{left_out}{_guarantee(release)}{_reading(release)}{_checking(release)}"
    edition = f", edition {printable(release.edition)}" if release.edition else ""
    return page(release.title, f"Private counts of {printable(release.plan.dataset)}{edition}", _facts(release), body)


# ------------------------------------------------------------------------------------------------ pictures


def drawn(release: Release) -> list[str]:
    """The picture of each table shown, as SVG between marks; empty where the ``plots`` extra is not there."""
    return [_marked(drawing(table.chart(), k)) for k, table in enumerate(release.tables[:MOST_TABLES])]


def pictures_in(text: str) -> list[str]:
    """The pictures that stand in a page."""
    return re.findall(r"<!--picture [^>]*-->.*?<!--/picture-->", text, flags=re.DOTALL)


def drawing_program() -> str:
    """What draws the pictures, with its version: two of them need not draw the same."""
    try:
        return f"vl-convert {version('vl-convert-python')}"
    except PackageNotFoundError:
        return "none"


def _marked(svg: str) -> str:
    return f"<!--picture {drawing_program()}-->{svg}<!--/picture-->"


# ------------------------------------------------------------------------------------------------ parts of the page


def _facts(release: Release) -> str:
    """The three or four numbers to take home."""
    words = explained(release)
    cells = sum(table.counts.size for table in release.tables)
    told = []
    if release.cost.delta:
        told.append(
            (f"ε = {text_up(words.epsilon, 4)}", f"privacy of the whole release, with δ = {text_up(words.delta, 3)}")
        )
    else:
        told.append((f"× {text_up(words.odds_ratio, 3)}", f"the most the odds about one {_who(release)} can change"))
        told.append((f"ε = {text_up(words.epsilon, 4)}", "privacy of the whole release"))
    reach = max(table.plan.noise.expected(table.level).half_width for table in release.tables)
    told.append((f"noise ± {reach:,}", f"or less, {percent(release.plan.level, 6)} of the time"))
    told.append((f"{cells:,}", noun(cells, "count")))
    return facts(told)


def _who(release: Release) -> str:
    return "row" if release.plan.protection.unit == "row" else "person"


def _section(release: Release, number: int, picture: str) -> str:
    table = release.tables[number]
    many = len(release.tables) > 1
    title = f"<h2>{text(table.title)}</h2>" if many else ""
    cut = ""
    if table.counts.size > MOST_CELLS:
        size = f"{MOST_CELLS:,} of {table.counts.size:,}"
        cut = f"<p class=note>Shown are the first {size} cells; the CSV file has them all.</p>"
    sure = (
        f"Lines are {percent(table.level, 6)} intervals for the noise: each contains the count without noise at least "
        f"{percent(table.level, 6)} of the time. In how many groups people were counted is said below."
    )
    caption = f"{_form(picture)} {sure} {_marks(table)}"
    figure = f"<figure>{picture}<figcaption>{caption}</figcaption></figure>" if "<svg" in picture else picture
    return (
        f'<section id="table-{number + 1}">{title}<p class=question>{text(question_in_words(release, table))}</p>'
        f"{cut}{figure}{_table(table)}<p class=note>{text(error_in_words(table))}</p>"
        f"<details><summary>The question in SQL</summary><pre><code>{text(table.question.text)}</code></pre></details>"
        "</section>"
    )


def _form(picture: str) -> str:
    return "Bars are the released counts." if "mark-rect" in picture else "Dots are the released counts."


def _marks(table: ReleasedTable) -> str:
    flags = set(table.status.reshape(-1)[:MOST_CELLS].tolist())
    return " ".join([*(["× cannot exist."] * (IMPOSSIBLE in flags)), *(["? was suppressed."] * (SUPPRESSED in flags))])


def question_in_words(release: Release, table: ReleasedTable) -> str:
    """What was asked, as a person would."""
    question = table.question
    unit = release.plan.protection.unit
    what = "rows" if unit == "row" else f"people (different values of {unit})"
    where = f" with {question.where.text}" if question.where is not None else ""
    by = f", by {listed(question.by)}" if question.by else ""
    asked = f"How many {what} are there in {question.table}{where}{by}?"
    conditions = [(one.name, one.condition) for one in question.aggregates]
    if len(conditions) == 1 and conditions[0][1] is None:
        return asked
    told = (f"{name}: {'all' if condition is None else condition.text}" for name, condition in conditions)
    return f"{asked} Counted are {'; '.join(told)}."


def error_in_words(table: ReleasedTable) -> str:
    """What is known of the error of every count."""
    seen = table.status.reshape(-1) == NORMAL
    if not seen.any():
        return "No noisy count is published."
    errors = {name: table.errors[name][seen] for name in ERROR_COLUMNS}
    sd = f"standard deviation at most {text_up(float(errors['sd'].max()), 4)}"
    low, high = float(errors["bias_low"].min()), float(errors["bias_high"].max())
    # less than this is the floats', not the noise's
    parts = [f"{text_up(size, 3)} too {way}" for size, way in ((high, "high"), (-low, "low")) if size > 1e-9]
    bias = f"on average it is at most {' and at most '.join(parts)}" if parts else "it is unbiased"
    exact = float(errors["exact_probability"].min())
    return (
        f"The noise of a count has a {sd}; {bias}; the noise is zero with probability at least "
        f"{int(exact * 1000) / 1000:g}. These hold whatever the true counts are."
    )


def _table(table: ReleasedTable) -> str:
    rows = table.rows(MOST_CELLS)
    ends = [row[end] for row in rows for end in ("low", "high", "count") if row[end] is not None]
    ruler = Ruler(min([0, *ends]), max([1, *ends]))
    names = [*table.by, *(["measure"] if len(table.measures) > 1 else [])]
    head = "".join(f"<th>{text(name)}</th>" for name in names)
    head += f"<th class=n>count</th><th class=n>{percent(table.level, 6)} interval</th><th class=wide></th>"
    lines = []
    for row in rows:
        labels = "".join(f"<td><bdi>{text(label(row[name], 200))}</bdi></td>" for name in names)
        lines.append(f"<tr>{labels}{_cells(row, ruler)}</tr>")
    box = " class=scroll" if len(rows) > 40 else ""
    return f"<div{box}><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def _cells(row: Mapping[str, Any], ruler: Ruler) -> str:
    if row["status"] == IMPOSSIBLE:
        return "<td class=n>0</td><td class=n>exact</td><td class=quiet>cannot exist</td>"
    if row["status"] == SUPPRESSED:
        return "<td class=n>–</td><td class=n>–</td><td class=quiet>suppressed</td>"
    low, high, count = row["low"], row["high"], row["count"]
    words = f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
    bar = ruler.bar(count, low, ruler.right if high is None else high)
    shown = f"{count:,}".replace("-", "−")
    return f"<td class=n><strong>{shown}</strong></td><td class=n>{words}</td><td>{bar}</td>"


def _guarantee(release: Release) -> str:
    sentences = "".join(f"<li>{text(sentence)}</li>" for sentence in release.guarantee)
    beliefs = _beliefs(release)
    table = ""
    if beliefs:
        lines = "".join(f"<tr><td class=n>{before}</td><td class=n>{after}</td></tr>" for before, after in beliefs)
        table = (
            "<table class=small><thead><tr><th class=n>someone believed it with</th><th class=n>and afterwards with at "
            f"most</th></tr></thead><tbody>{lines}</tbody></table>"
        )
    return f"<section><h2>What is guaranteed</h2><ul>{sentences}</ul>{table}</section>"


def _reading(release: Release) -> str:
    flags = {str(flag) for table in release.tables for flag in set(table.status.reshape(-1).tolist())}
    legend = "".join(
        f"<dt>{flag}</dt><dd>{text(STATUS_MEANING[flag])}</dd>" for flag in STATUS_MEANING if flag in flags
    )
    columns = "".join(f"<dt>{name}</dt><dd>{text(meaning)}</dd>" for name, meaning in _COLUMNS.items())
    return (
        "<section><h2>How to read the numbers</h2><p>A count is the true one, after everyone was limited to the stated "
        "number of groups, plus random noise. A negative count, or a total that differs from the sum of its parts, is "
        "noise and no mistake. The columns of the CSV files:</p>"
        f"<dl>{columns}</dl><p>Flags in the column status (SDMX, CL_OBS_STATUS):</p><dl>{legend}</dl>"
        "<p>Sums, differences and percentages of these counts have intervals of their own, narrower than what adding "
        "up ends gives: <code>release.total({...})</code>.</p></section>"
    )


def _checking(release: Release) -> str:
    receipt = "".join(
        f"<dt>{text(name)}</dt><dd><code>{text(value)}</code></dd>" for name, value in release.ledger.items()
    )
    return (
        "<section><h2>How to re-check it</h2><p>In the folder of this page:</p>"
        "<pre><code>sha256sum -c SHA256SUMS\ndiscreet verify .</code></pre>"
        "<p>The second line reads the question again, proves the noise again, and works out the cost and the error of "
        "every count again. That the counts are those which were drawn, only the ledger can tell: "
        "<code>--ledger FILE</code>.</p>"
        f"<dl><dt>data set</dt><dd>{text(release.plan.dataset)}</dd>"
        + (f"<dt>edition</dt><dd>{text(release.plan.edition)}</dd>" if release.plan.edition else "")
        + f"{receipt}<dt>program</dt><dd>discreet {text(release.version)}</dd></dl></section>"
    )


# ------------------------------------------------------------------------------------------------ the guarantee


def explained(release: Release, prior: str = "1/2") -> Explanation:
    """The cost of the release, in odds."""
    cost = release.cost
    certificate = Certificate("central", bound_up(cost.epsilon), bound_up(cost.delta), None, "composed", False)
    return explain(certificate, prior=prior)


def _beliefs(release: Release) -> list[tuple[str, str]]:
    """Beliefs before and after; none where a delta leaves no bound on a single belief."""
    if release.cost.delta:
        return []
    found = ((prior, explained(release, prior)) for prior in _PRIORS)
    return [(percent(words.prior, 6), f"{text_up(words.posterior * 100, 3)}%") for _, words in found]


def guarantee_text(release: Release) -> str:
    """GUARANTEE.md: what is protected, against whom, how well, and what is not."""
    cost = release.cost
    delta = f", delta = {short(cost.delta, up=True, digits=3)}" if cost.delta else ""
    edition = f", edition {_markdown(release.edition)}" if release.edition else ""
    questions = [f"- {_markdown(question_in_words(release, table))}" for table in release.tables]
    errors = [f"- {_markdown(table.title)}: {error_in_words(table)}" for table in release.tables]
    beliefs = [f"| {before} | {after} |" for before, after in _beliefs(release)]
    if beliefs:
        beliefs = ["| someone believed it with | and afterwards with at most |", "| ---: | ---: |", *beliefs, ""]
    paragraphs = [
        "# What is guaranteed\n",
        f"Data set {_markdown(release.plan.dataset)}{edition}. "
        f"Epsilon = {short(cost.epsilon, up=True)}{delta} for everything in this folder together.\n",
        *(f"- {_markdown(sentence)}" for sentence in release.guarantee),
        "",
        *beliefs,
        "## What was asked\n",
        *questions,
        "",
        "## How large the noise is\n",
        *errors,
        "",
        "## What is not guaranteed\n",
        "- What is true of the groups as wholes is published: whoever belongs to one learns it about themselves too.",
        "- Other releases from the same data add up. The ledger keeps their sum within the budget it was opened with; "
        "what is published past it is not in the sum.",
        "- The groups, the question, and which cells cannot exist are public facts and are not protected.",
        "",
        "## How to check this\n",
        "    sha256sum -c SHA256SUMS",
        "    discreet verify .",
        "",
        "The second line works out everything on this page again from the question and the noise. That the counts are "
        "those which were drawn, only the ledger can tell (`--ledger FILE`).",
    ]
    return "\n".join(paragraphs) + "\n"


def _markdown(text: str) -> str:
    """Text that no Markdown reader takes for markup or a page."""
    quiet = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", re.sub(r"&(?=#?\w+;)", "&amp;", printable(text)))
    return re.sub(r"([\\`*_\[\]|#~!])", r"\\\1", quiet)


# ------------------------------------------------------------------------------------------------ the columns

_COLUMNS = {
    "count": "the noisy count",
    "low, high": "an interval that contains the count without noise at least as often as stated",
    "sd": "standard deviation of the noisy count, at most",
    "bias_low, bias_high": "mean of noisy minus true count: between these, whatever the truth is",
    "exact_probability": "probability that the noise is zero, at least",
}
