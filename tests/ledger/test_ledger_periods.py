"""Accounts by period: left(p) = budget - spent(all) - spent(p), for every period, also for those never named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from importlib.resources import files
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import discreet as dc
from discreet.errors import BudgetExceeded, InvalidInput
from discreet.ledger.accounts import Accounts
from discreet.ledger.budget import Cost, Tally
from discreet.ledger.ledger import Charge, Ledger, Reservation
from discreet.ledger.statement import terms_in_words
from discreet.ledger.terms import LedgerTerms
from ledger.test_ledger_races import results_of
from support.ledgers import fill, make, rebuilt
from support.refusals import refused
from support.waiting import LIMIT_SECONDS

MARCH, APRIL, MAY = MONTHS = ("2026-03", "2026-04", "2026-05")


def monthly(path: Path, **terms: object) -> Ledger:
    return make(path, per="month", **terms)


def pay(ledger: Ledger, key: str, epsilon: object, periods: Sequence[str] | None) -> Reservation:
    paid = ledger.reserve(key, {"question": key}, Cost(epsilon), periods=periods)  # type: ignore[arg-type]
    assert isinstance(paid, Reservation)
    return paid


# ------------------------------------------------------------------------------------------------ sums

PERIODS = st.one_of(st.none(), st.sets(st.sampled_from(MONTHS), min_size=1).map(lambda names: tuple(sorted(names))))


@pytest.mark.parametrize("filter", ["sum", "zcdp", "either"])
@given(charges=st.lists(st.tuples(st.integers(1, 9), PERIODS, st.booleans()), max_size=14))
def test_every_account_is_a_ledger_of_the_releases_that_read_its_period(
    filter: str, charges: list[tuple[int, tuple[str, ...] | None, bool]]
) -> None:
    """Against one list of releases per period: paid exactly if each list can pay by itself; given back alike."""
    terms = LedgerTerms.new("d", "row", "add-remove", 3, "0" if filter == "sum" else "1e-6", filter, per="month")
    accounts, lists = Accounts(), {name: [] for name in [*MONTHS, None]}  # type: ignore[var-annotated]
    for tenths, periods, is_kept in charges:
        charge = terms.charge(Cost(Fraction(tenths, 5)))
        touched = list(lists) if periods is None else list(periods)
        fits = all(terms.allow(sum([*lists[name], charge], start=Tally())) for name in touched)
        after = accounts.plus(charge, periods)
        assert fits is all(terms.allow(spent) for _, spent in after.charged(periods))
        assert after.minus(charge, periods) == accounts
        if fits and is_kept:
            accounts = after
            for name in touched:
                lists[name].append(charge)
    for name, paid in lists.items():
        assert accounts.of(name) == sum(paid, start=Tally())
    assert Accounts.from_json(accounts.to_json()) == accounts


def test_a_period_has_the_budget_less_what_all_and_it_spent(tmp_path: Path) -> None:
    ledger = monthly(tmp_path)
    pay(ledger, "a", 1, None)
    pay(ledger, "b", "1.5", [APRIL, MARCH, APRIL])
    assert [str(ledger.left(name)) for name in (*MONTHS, "1999-12")] == ["epsilon 0.5"] * 2 + ["epsilon 2"] * 2
    assert (str(ledger.spent(MARCH)), str(ledger.spent()), str(ledger.left())) == (
        "epsilon 2.5", "epsilon 2.5", "epsilon 0.5",
    )  # fmt: skip
    assert str(ledger.quote(Cost(1), [MARCH])[1]) == "epsilon 0.5"
    assert ledger.quote(Cost(2), [MAY]) == (Cost(0), None)
    with refused(BudgetExceeded, token="2026-03 ... 0.5 of 3"):
        pay(ledger, "c", 1, [MARCH, MAY])  # May could pay
    with refused(BudgetExceeded, token="2026-03"):
        pay(ledger, "c", 1, None)
    pay(ledger, "c", 2, [MAY])
    pay(ledger, "d", "0.5", [MARCH, APRIL])
    assert ledger.verify().holds and ledger.left(MAY).epsilon == ledger.left(MARCH).epsilon == 0
    assert ledger.left("2026-06").epsilon == 2  # never named: nothing but what all periods spent


def test_what_is_given_back_returns_to_its_periods_also_across_checkpoints(tmp_path: Path) -> None:
    ledger = monthly(tmp_path, epsilon=100)
    paid = pay(ledger, "a", 7, [MARCH, MAY])
    fill(ledger, 60)
    before = ledger.left(MARCH)
    assert str(ledger.release(paid.number, because="power cut")) == "epsilon 7"
    assert ledger.left(MARCH).epsilon == before.epsilon + 7 == ledger.left(APRIL).epsilon
    report = ledger.verify()
    assert report.holds and report.events > 128
    spent = [event.content["spent"] for event in ledger.events() if event.number in (64, 128)]
    assert [list(sums["periods"]) for sums in spent] == [[MARCH, MAY], [MARCH, MAY]]


# ------------------------------------------------------------------------------------------------ never mixed


def test_questions_of_another_kind_are_refused(tmp_path: Path) -> None:
    (tmp_path / "months").mkdir()
    persons, months = make(tmp_path), monthly(tmp_path / "months")
    months.check_terms("visits", "person", "add-remove", "month")
    for ledger, per in ((persons, "month"), (months, None), (months, "week")):
        with refused(InvalidInput, argument="ledger"):
            ledger.check_terms("visits", "person", "add-remove", per)
    for call in (
        lambda: persons.left(MARCH),
        lambda: pay(persons, "a", 1, [MARCH]),
        lambda: persons.quote(Cost(1), [MARCH]),
    ):
        with refused(InvalidInput, argument="periods"):
            call()
    for wrong in ([], "2026-03", {"2026-03": 1}, 3):
        with refused(InvalidInput, argument="periods", given=wrong):
            pay(months, "a", 1, wrong)  # type: ignore[arg-type]
    with refused(InvalidInput, argument="period", given="2026-W09"):
        pay(months, "a", 1, [MARCH, "2026-W09"])
    with refused(InvalidInput, argument="per"):
        make(tmp_path, per="decade")
    assert len(persons.events()) == len(months.events()) == 1


def test_new_fields_appear_only_where_they_are_used(tmp_path: Path) -> None:
    (tmp_path / "months").mkdir()
    persons, months = make(tmp_path), monthly(tmp_path / "months")
    for ledger in (persons, months):
        ledger.reserve("a", {}, Cost(1))
    assert persons.version == 4 and months.version == 5
    assert "per" not in persons.terms.to_json() and not persons.statement().to_json().keys() & {"periods", "pays"}
    assert months.terms.to_json()["per"] == "month"
    assert all("periods" not in event.content for ledger in (persons, months) for event in ledger.events())


# ------------------------------------------------------------------------------------------------ what is altered


def uncharged(number: int, kind: str, content: dict[str, Any]) -> None:
    if kind == "reserve" and content.get("periods") == [MARCH, MAY]:
        content["periods"] = [MARCH]


def spelled(number: int, kind: str, content: dict[str, Any]) -> None:
    if kind == "reserve" and "periods" in content:
        content["periods"] = content["periods"][::-1]


def dropped(number: int, kind: str, content: dict[str, Any]) -> None:
    content.pop("periods", None)


def older(number: int, kind: str, content: dict[str, Any]) -> None:
    if kind == "init":
        content["version"] = 4


def of_persons(number: int, kind: str, content: dict[str, Any]) -> None:
    content.pop("per", None)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (uncharged, "states another sum"),
        (dropped, "costs more than was left"),
        (spelled, "in their order"),
        (older, "has no periods"),
        (of_persons, "one account"),
    ],
)
def test_a_forged_chain_with_a_period_uncharged_is_noticed(tmp_path: Path, change: Any, problem: str) -> None:
    ledger = monthly(tmp_path)
    pay(ledger, "a", 2, [MARCH, MAY])
    pay(ledger, "b", 2, [APRIL])
    fill(ledger, 22)
    assert ledger.verify().holds
    rebuilt(ledger, change)
    assert problem in " ".join(ledger.verify().problems)


# ------------------------------------------------------------------------------------------------ copies, programs


def test_a_copy_has_the_same_accounts_and_refuses_alike(tmp_path: Path) -> None:
    ledger = monthly(tmp_path)
    pay(ledger, "a", 2, [MARCH])
    pay(ledger, "b", "0.5", None)
    copied = ledger.copy_to(tmp_path / "copy.ledger")
    assert copied.terms == ledger.terms and copied.left(MARCH).epsilon == Fraction(1, 2)
    assert copied.left(MAY).epsilon == Fraction(5, 2) and copied.verify().holds
    with refused(BudgetExceeded, token="2026-03"):
        pay(copied, "c", 1, [MARCH])


def racer(me: int, gate: Barrier, results: Any, path: str) -> None:
    """Spend March, and a month of one's own, until neither pays."""
    ledger, won = Ledger.open(path), 0
    gate.wait(LIMIT_SECONDS)
    for k in range(4):
        ledger.reserve(f"own {k} of {me}", {}, Cost(Fraction(1, 3)), periods=[f"2027-0{me + 1}"])
        try:
            ledger.reserve(f"question {k} of {me}", {}, Cost(Fraction(1, 3)), periods=[MARCH, f"2028-0{me + 1}"])
        except BudgetExceeded:
            continue
        won += 1
    results.put((me, won))


def test_two_processes_cannot_overspend_one_period(tmp_path: Path) -> None:
    ledger = monthly(tmp_path, epsilon=Fraction(5, 3))
    won = results_of(racer, 2, ledger.name)
    assert sum(won.values()) == 5 and ledger.left(MARCH).epsilon == 0
    assert ledger.left("2027-01").epsilon == ledger.left("2027-02").epsilon == Fraction(1, 3)
    assert ledger.verify().holds


KILLED = """
import os, signal, sys
from discreet.ledger.ledger import Cost, Ledger
ledger = Ledger.open(sys.argv[1])
paid = ledger.reserve("a", {}, Cost(2), periods=["2026-03", "2026-04"])
ledger.mark_opened(paid)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_program_killed_between_reserving_and_recording_leaves_its_periods_spent(tmp_path: Path) -> None:
    ledger = monthly(tmp_path)
    ended = subprocess.run([sys.executable, "-c", KILLED, ledger.name], env=os.environ, check=False)
    assert ended.returncode == -signal.SIGKILL
    (orphan,) = ledger.orphans()
    assert orphan.periods == (MARCH, APRIL) and ledger.verify().holds
    assert [ledger.left(name).epsilon for name in MONTHS] == [1, 1, 3]
    with refused(InvalidInput, argument="number"):
        ledger.release(orphan.number, because="it was killed")


# ------------------------------------------------------------------------------------------------ what is shown


def check_schema(content: dict[str, Any]) -> None:
    """Compare with the schema that the format of the content names."""
    name = content["format"].removeprefix("discreet ")
    schema = json.loads((files("discreet") / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(content)


def test_the_statement_shows_each_period_and_every_other(tmp_path: Path) -> None:
    ledger = monthly(tmp_path)
    pay(ledger, "a", 1, None)
    pay(ledger, "b", "0.5", [MARCH, MAY])
    statement = ledger.statement()
    content = statement.to_json()
    assert content["per"] == "month" and [row["period"] for row in content["periods"]] == [MARCH, MAY, None]  # type: ignore
    assert [row["left"]["epsilon"] for row in content["periods"]] == ["3/2", "3/2", "2"]  # type: ignore
    assert [entry["periods"] for entry in content["entries"]] == [None, [MARCH, MAY]]  # type: ignore
    check_schema(content)
    text = statement.describe()
    assert "one month of one `person`" in text and "epsilon = 3 in each month" in text
    assert "every other month" in text and "2026-03, 2026-05" in text


@pytest.mark.parametrize(
    ("relation", "change"),
    [("add-remove", "added or removed"), ("substitution", "replaced by another of the same month")],
)
def test_a_ledger_by_month_protects_the_rows_of_one_month_and_a_swap_stays_in_it(
    tmp_path: Path, relation: str, change: str
) -> None:
    fields = {"dataset": "visits", "unit": "person", "relation": relation, "epsilon": 1}
    by_month = Ledger.create(tmp_path / "months", per="month", **fields)  # type: ignore[arg-type]
    whole = Ledger.create(tmp_path / "people", **fields)  # type: ignore[arg-type]
    month, person = (dict(terms_in_words(one.terms))["protects"] for one in (by_month, whole))
    assert month == f"one month of one `person` (rows with the same person and month of their date), {change}"
    assert person == f"one `person` (all rows with the same person), {change.removesuffix(' of the same month')}"


def test_a_budget_plan_adds_up_by_period(tmp_path: Path) -> None:
    ledger = monthly(tmp_path)
    pay(ledger, "a", 1, [APRIL])
    (tmp_path / "year.toml").write_text(
        'format = "discreet budget plan"\nledger = "study.ledger"\n'
        f'[[releases]]\nepsilon = 1.5\nperiods = ["{MARCH}"]\n'
        f'[[releases]]\nepsilon = 1\ntimes = 2\nperiods = ["{MARCH}", "{APRIL}"]\n[[releases]]\nepsilon = 0.5\n'
    )
    plan = dc.plan_budget(tmp_path / "year.toml")
    assert [line.verdict for line in plan.releases] == ["paid", "paid", "refused", "paid"]
    assert [str(line.left.epsilon) for line in plan.releases] == ["3/2", "1/2", "1/2", "0"]
    assert {total.period: (str(total.together), total.missing and str(total.missing)) for total in plan.periods} == {
        MARCH: ("epsilon 4", "epsilon 1"), APRIL: ("epsilon 2.5", "epsilon 0.5"), None: ("epsilon 0.5", None),
    }  # fmt: skip
    assert str(plan.missing) == "epsilon 1" and not plan.fits
    assert "every other period" in plan.describe()
    check_schema(plan.to_json())
    assert ledger.quote_by_period([Charge(Cost(2), None)])[APRIL][1] is None
