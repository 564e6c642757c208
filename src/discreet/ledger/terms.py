"""The permanent terms of a ledger: its data set, its guarantee and its budget; and the command that makes one."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, InWords, arg, named
from ..exact.rationals import as_fraction
from ..periods import read_granularity, read_period
from ..privacy.relations import RELATIONS
from ..report import Json
from ..wording import find_name, listed
from .budget import (
    Cost,
    Tally,
    decimal_text,
    exact_text,
    largest_rho,
    lifetime_budget,
    read_exact,
    read_name,
    rho_within,
)
from .filters import FILTERS, Filter

#: Maximum epsilon of a budget; more would protect nobody.
MAX_BUDGET_EPSILON = 10_000


@dataclass(frozen=True)
class LedgerTerms:
    """The permanent terms of a ledger: its data set, its guarantee and its budget.

    Attributes
    ----------
    dataset, unit, relation
        The data set, the privacy unit ("row" or a column), and the neighbour relation.
    epsilon, delta, filter
        The budget, and the rule by which costs add up.
    ledger
        A random name, the same in every bundle.
    key
        The secret key of the hash that chooses which of a person's groups count. Never shown or exported.
    rho, order
        With the filters "zcdp" and "either": the budget as rho, and the order alpha of Renyi divergence that proves it.
    per
        The granularity of the periods that have an account each: "day", "week", "month", "quarter" or "year". The unit
        is then one period of a unit. None: one account for all.
    own_delta
        With the filter "either": the part of delta for releases with a delta of their own.
    """

    dataset: str
    unit: str
    relation: str
    epsilon: Fraction
    delta: Fraction
    filter: str
    ledger: str
    key: bytes = field(repr=False)
    rho: Fraction | None = None
    order: Fraction | None = None
    per: str | None = None
    own_delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for what in ("dataset", "unit", "ledger"):
            read_name(getattr(self, what), what)
        for what, allowed in (("relation", RELATIONS), ("filter", FILTERS)):
            if getattr(self, what) not in allowed:
                raise InvalidInput.must_be(what, f"one of {', '.join(allowed)}", getattr(self, what))
        if not 0 < self.epsilon <= MAX_BUDGET_EPSILON:
            raise InvalidInput.must_be(
                "epsilon", f"above 0 and at most {MAX_BUDGET_EPSILON} for a budget", InWords(self.epsilon)
            )
        if not 0 <= self.delta < 1:
            raise InvalidInput.must_be("delta", "a probability, at least 0 and below 1", InWords(self.delta))
        if self.filter != "sum" and not self.delta:
            raise InvalidInput(
                f"the filter {self.filter} needs a delta above 0, such as 1e-6.",
                "With delta = 0 use the filter sum.",
                argument="delta",
            )
        if self.own_delta and self.filter != "either":
            raise InvalidInput(
                f"the filter {self.filter} sets no delta aside.",
                f"Leave {arg('own_delta')} out, or use {arg('filter', 'either')}.",
                argument="own_delta",
            )
        if not 0 <= self.own_delta < (self.delta or 1):
            raise InvalidInput.must_be("own_delta", "at least 0 and below the delta of the budget", self.own_delta)
        if self.per is not None and read_granularity(self.per) != self.per:
            raise InvalidInput.must_be("per", "a granularity as it is spelled", self.per)

    @classmethod
    def new(
        cls, dataset: str, unit: str, relation: str, epsilon: object, delta: object, filter: str, *,
        per: str | None = None, own_delta: object = 0,
    ) -> LedgerTerms:  # fmt: skip
        """Return terms with a new random name and a new secret key."""
        total, chance, own = (
            as_fraction(value, f"the {named(what)} of the budget")
            for what, value in (("epsilon", epsilon), ("delta", delta), ("own_delta", own_delta))
        )
        relation, filter = (
            find_name(relation, RELATIONS, "a relation", argument="relation"),
            find_name(filter, FILTERS, "a filter", argument="filter"),
        )
        per = None if per is None else read_granularity(per)
        name, key = secrets.token_hex(16), secrets.token_bytes(32)
        terms = cls(dataset, unit, relation, total, chance, filter, name, key, per=per, own_delta=own)
        if filter == "sum":
            return terms
        rho, order = largest_rho(total, chance - own)
        return replace(terms, rho=rho, order=order)

    @property
    def is_extended(self) -> bool:
        """True if programs that read ledgers up to version 4 do not know these terms."""
        return self.per is not None or self.filter == "either"

    def to_json(self) -> dict[str, Json]:
        """Return JSON values: everything but the secret key."""
        content: dict[str, Json] = {
            "ledger": self.ledger,
            "dataset": self.dataset,
            "unit": self.unit,
            "relation": self.relation,
            "epsilon": exact_text(self.epsilon),
            "delta": exact_text(self.delta),
            "filter": self.filter,
            "rho": None if self.rho is None else exact_text(self.rho),
            "order": None if self.order is None else exact_text(self.order),
        }
        if self.per is not None:
            content["per"] = self.per
        if self.own_delta:
            content["own_delta"] = exact_text(self.own_delta)
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any], key: bytes) -> LedgerTerms:
        """Read terms that :meth:`to_json` wrote; refuse a rho that the budget does not imply."""
        rho, order = (None if content[what] is None else read_exact(content[what]) for what in ("rho", "order"))
        names = content["dataset"], content["unit"], content["relation"]
        epsilon, delta = read_exact(content["epsilon"]), read_exact(content["delta"])
        own = read_exact(content.get("own_delta", "0"))
        terms = cls(
            *names, epsilon, delta, content["filter"], content["ledger"], key, rho, order, content.get("per"), own
        )
        if (terms.filter != "sum") != (rho is not None) or (rho is None) != (order is None):
            raise InvalidInput("a budget has a rho if and only if rho is what adds up.")
        if rho is not None and order is not None and not (order > 1 and rho <= rho_within(epsilon, delta - own, order)):
            raise InvalidInput("the budget as rho does not follow from epsilon and delta.")
        return terms

    @property
    def budget(self) -> Cost:
        """The total budget as bundles state it; with a rho if rho alone adds up."""
        return Cost(self.epsilon, self.delta, self.rho if self.filter == "zcdp" else None)

    @property
    def rule(self) -> Filter:
        """The filter with its budget."""
        own_delta = self.delta if self.filter == "sum" else self.own_delta
        return FILTERS[self.filter](self.epsilon, self.delta, own_delta, self.rho)

    def charge(self, cost: Cost) -> Tally:
        """Return what a cost adds to the sums; refuse a cost that the filter cannot count."""
        return self.rule.charge(cost)

    def allow(self, spent: Tally) -> bool:
        """Return whether the budget pays for these sums."""
        return self.rule.allow(spent)

    def read_periods(self, periods: object) -> tuple[str, ...] | None:
        """Return the periods of a release, sorted; None is all periods. Refuse other granularities than the ledger's.

        >>> terms = LedgerTerms.new("visits", "person", "add-remove", 1, 0, "sum", per="month")
        >>> terms.read_periods(["2026-04", "2026-03", "2026-03"]), terms.read_periods(None)
        (('2026-03', '2026-04'), None)
        """
        if periods is None:
            return None
        if self.per is None:
            raise InvalidInput(
                "this ledger has one account for all periods.", f"Leave {arg('periods')} out.", argument="periods"
            )
        if isinstance(periods, str) or not isinstance(periods, list | tuple | set | frozenset) or not periods:
            example = listed(["None for all periods", "a list of their names"], "or")
            raise InvalidInput.must_be("periods", example, periods)
        return tuple(sorted({read_period(name, self.per) for name in periods}))


def init_line(path: str | Path, hint: Mapping[str, object]) -> str:
    """Return the command that makes a ledger, with the known options filled in.

    The proposed budget pays for three releases of the known cost, as a round number.

    >>> init_line("study.ledger", {"data": "my visits.csv", "unit": "person"})
    "discreet ledger init study.ledger --data 'my visits.csv' --unit person --epsilon 1"
    >>> init_line("study.ledger", {"dataset": "visits", "unit": "row", "cost": Cost("0.4", "1e-6")})
    'discreet ledger init study.ledger --data visits --unit row --epsilon 2 --delta 3e-6'
    """
    options = {"data": hint.get("dataset", "NAME"), "unit": "COLUMN", "epsilon": 1}
    if isinstance(cost := hint.get("cost"), Cost):
        budget = {"epsilon": cost.epsilon, "delta": cost.delta}
        options |= {what: lifetime_budget(one) for what, one in budget.items() if one}
    options |= {option: value for option, value in hint.items() if value is not None}
    defaults = {"relation": "add-remove", "delta": "0", "filter": "sum"}
    words = ["discreet", "ledger", "init", str(path)]
    for option in ("data", "unit", "per", "epsilon", "delta", "relation", "filter"):
        if option not in options:
            continue
        value = options[option]
        text = decimal_text(value) if isinstance(value, Fraction) else str(value)
        if text != defaults.get(option):
            words += [f"--{option}", text]
    return shlex.join(words)


def proposal(path: str | Path, hint: Mapping[str, object]) -> str:
    """Return the advice for a missing ledger: the command that makes it, and the purpose of its budget."""
    how = "Make one, with a budget for everything that will ever be released from the data:"
    if isinstance(cost := hint.get("cost"), Cost):
        how = (
            f"This release costs epsilon {decimal_text(cost.epsilon)}; a budget is for all releases from the data and "
            "cannot be changed, so make one with room for two more like it:"
        )
    return f"{how}\n  {init_line(path, hint)}"
