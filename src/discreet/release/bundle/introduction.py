"""The sentences that open a bundle's page: what is protected, how much may be revealed in all, what is not covered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ledger.budget import Cost, short
from ...report import Bullets, Section, Terms
from ..plan.report import cost_in_words
from ..protection import hidden_in_words

if TYPE_CHECKING:
    from .released import Release


def opening_sentences(release: Release) -> tuple[str, str, str]:
    """Return three sentences: what is protected, what all publications together may reveal, what is not covered."""
    protection = release.plan.protection
    who = protection.who
    protects = (
        f"This publication protects {who.protected}; it limits how well readers can tell "
        f"{hidden_in_words(protection.relation, who)}."
    )
    uncovered = (
        f"It does not cover facts about whole groups of {who.several}, which are published on purpose, or anything "
        "that is published about the same data without this ledger."
    )
    return protects, _together(release), uncovered


def opening(release: Release) -> tuple[Section, ...]:
    """Return the three sentences as a section, and the curator's statements as another."""
    statements = release.plan.publication.pairs
    sections = (Section(parts=(Bullets(opening_sentences(release)),), depth="pages"),)
    return (*sections, Section(parts=(Terms(statements),), depth="pages")) if statements else sections


def _together(release: Release) -> str:
    """State the total budget of the ledger, and the part of it that this release uses."""
    cost, budget, who = release.cost, release.budget, release.plan.protection.who
    if budget is None:
        return (
            f"It may reveal at most {cost_in_words(cost)} about {who.a}; the bundle does not state how much all "
            "publications paid from the same ledger may reveal together."
        )
    used = cost_in_words(cost)
    if budget.rho is not None:
        rho = cost.concentrated()
        assert rho is not None  # a ledger that adds up rho pays for no release without one
        used = f"rho {short(rho, up=True)} of rho {short(budget.rho, up=False)}, in which that budget is counted"
    return (
        f"All publications paid from this ledger together may reveal at most {_total_in_words(budget)} about {who.a}; "
        f"this one uses {used}."
    )


def _total_in_words(budget: Cost) -> str:
    """Return epsilon, and delta where there is one, rounded down."""
    delta = f", delta {short(budget.delta, up=False, digits=3)}" if budget.delta else ""
    return f"epsilon {short(budget.epsilon, up=False)}{delta}"
