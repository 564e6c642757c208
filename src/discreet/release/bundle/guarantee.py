"""GUARANTEE.md of a bundle: the sentences of its page as plain text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...ledger.budget import short
from ...plots.chart import printable
from ..plan.report import beliefs, question_in_words
from .introduction import opening_sentences
from .report import CHECKED, CHECKING, not_guaranteed

if TYPE_CHECKING:
    from .released import Release


def guarantee_text(release: Release) -> str:
    """Return the text of GUARANTEE.md."""
    cost = release.cost
    delta = f", delta = {short(cost.delta, up=True, digits=3)}" if cost.delta else ""
    edition = f", edition {_markdown(release.edition)}" if release.edition else ""
    headings, rows = beliefs(release.plan)
    lines = [headings, ("---:",) * len(headings), *rows] if rows else []
    table = [*(f"| {' | '.join(line)} |" for line in lines), *([""] if rows else [])]
    questions = [question_in_words(release.plan, one.plan) for one in release.tables]
    errors = [f"{one.title}: {one.error_sentence}" for one in release.tables]
    publication = release.plan.publication
    statements = [f"- {name}: {_markdown(text)}" for name, text in publication.pairs]
    paragraphs = [
        f"# What is guaranteed{': ' if publication.title else ''}{_markdown(publication.title)}\n",
        *(f"{_markdown(sentence)}\n" for sentence in opening_sentences(release)),
        *([*statements, ""] if statements else []),
        f"Data set {_markdown(release.plan.dataset)}{edition}. "
        f"Epsilon = {short(cost.epsilon, up=True)}{delta} for everything in this folder together.\n",
        *(f"- {_markdown(sentence)}" for sentence in release.guarantee),
        "",
        *table,
        "## What was asked\n",
        *(f"- {_markdown(question)}" for question in questions),
        "",
        "## How large the noise is\n",
        *(f"- {_markdown(error)}" for error in errors),
        "",
        "## What is not guaranteed\n",
        *(f"- {sentence}" for sentence in not_guaranteed(release.plan)),
        "",
        "## How to check this\n",
        *(f"    {line}" for line in CHECKING.splitlines()),
        "",
        CHECKED,
    ]
    return "\n".join(paragraphs) + "\n"


def _markdown(text: str) -> str:
    """Escape text so that it is not read as Markdown or HTML; names with underscores become code spans."""
    quiet = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", re.sub(r"&(?=#?\w+;)", "&amp;", printable(text)))
    return _MARKDOWN.sub(_escaped, quiet)


#: A name in backticks, a name with underscores, or a character with a meaning in Markdown.
_MARKDOWN = re.compile(r"(?<!`)`(?P<code>\w+)`(?!`)|(?P<name>\w*_\w*)|[\\`*\[\]|#~!]")


def _escaped(match: re.Match[str]) -> str:
    if name := match["code"] or match["name"]:
        text, place = match.string, match.start()
        beside_backtick = text[place - 1 : place] == "`" or text[match.end() : match.end() + 1] == "`"
        return name.replace("_", "&#95;") if beside_backtick else f"`{name}`"
    return f"\\{match[0]}"
