"""The quantiles of a plan: what they need of the request, and the columns in whose counts they are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import InvalidInput, arg
from ...questions.bands import BAND
from ...questions.groups import domain_column
from ...questions.question import QuantileRequest, Question, with_quantiles
from ..tables.draft import Draft
from .request import Domain, ReleaseRequest


def add_quantiles(questions: Sequence[Question], quantiles: Sequence[QuantileRequest]) -> list[Question]:
    """Return the questions with the quantiles of a request; those in the text of a question are there already."""
    if quantiles and len(questions) > 1:
        raise InvalidInput(
            "a quantile belongs to one question.", "Write MEDIAN(age) in the question.", argument="quantile"
        )
    return [with_quantiles(one, quantiles) for one in questions] if quantiles else list(questions)


def request_for_quantiles(request: ReleaseRequest, questions: Sequence[Question]) -> ReleaseRequest:
    """Return the request with what quantiles need: one group per unit, and counts that are not clamped by default.

    Clamped counts are too high on average in bands with few people, which moves a quantile.
    """
    if not any(question.quantiles for question in questions):
        return request
    if request.max_groups not in (None, 1):
        raise InvalidInput(
            "a quantile counts each unit once, in one group.",
            f"Leave {arg('max_groups')} out.",
            argument="max_groups",
        )
    if request.suppress_below is not None:
        raise InvalidInput(
            "a quantile needs every count of its column.", f"Leave {arg('suppress_below')} out.",
            argument="suppress_below",
        )  # fmt: skip
    has_largest_count = request.bound is not None or request.sizes is not None or request.designed
    unclamped = request.counts is None and not has_largest_count and isinstance(request.mechanism, str)
    return replace(request, max_groups=1, counts="signed" if unclamped else request.counts)


def refuse_without_bands(drafts: Sequence[Draft], domain: Domain | None) -> None:
    """Refuse a quantile of a column that has neither bands nor declared values."""
    names = () if domain is None else domain if isinstance(domain, dict) else map(domain_column, domain)
    declared = {str(name).casefold() for name in names}
    for draft in drafts:
        if draft.original.quantiles and not draft.counts_every_group:
            raise InvalidInput(
                "a quantile needs every count of its column, and discovery leaves small ones out.",
                f"Declare the values by {arg('domain')} instead of {arg('discover')}.",
                argument="discover",
            )
        for place, _ in draft.original.quantiles:
            column = draft.question.by[place]
            if column.casefold() not in declared and column not in draft.bands and draft.request.groups is None:
                raise InvalidInput(
                    f"a quantile of {column!r} needs bands, in which people are counted.",
                    f"Add {arg('bands', [f'{column}=0,18,30,45,65,100'])}, with your own edges.",
                    argument="bands",
                )


def quantiles_of(draft: Draft) -> tuple[QuantileRequest, ...]:
    """Return the quantiles of a draft by the names of their group columns; refuse columns without an order."""
    quantiles = []
    for place, share in draft.original.quantiles:
        column, kind = draft.groups.columns[place], draft.groups.kinds[place]
        if kind not in (BAND, "integer"):
            raise InvalidInput(
                f"{column!r} has texts, which have no quantiles.",
                f"Declare its bands: {arg('bands', [f'{column}=0,18,30,45,65,100'])}.",
                argument="quantile",
            )
        quantiles.append((column, share))
    return tuple(dict.fromkeys(quantiles))
