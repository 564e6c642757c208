"""One month of one person: which months a question reads, what they cost, and what several months cost together."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import discreet as dc
from discreet.datasets.declaration import Declaration
from discreet.engines.reference import holds
from discreet.errors import BudgetExceeded, InvalidInput
from discreet.periods import GRANULARITIES, Per, period_of, periods_between
from discreet.questions.question import Question, read_question
from discreet.release.plan import periods
from discreet.release.plan.periods import MAX_PERIODS, periods_of, periods_of_questions
from discreet.release.plan.plan import Plan, plan_from_request
from discreet.release.plan.report import EXAMPLE_SPANS
from support.refusals import refused

# ------------------------------------------------------------------------------------------------ the periods of WHERE

DAYS = [date(2024, 12, 25) + timedelta(days=k) for k in range(0, 120, 3)]


def asked(where: str) -> Question:
    return read_question(f"SELECT COUNT(*) FROM visits WHERE {where}", unit="person")


def random_where(chance: random.Random, deep: int = 2) -> str:
    """A condition on days, in forms that limit them and forms that do not."""
    if deep and chance.random() < 0.7:
        parts = [f"({random_where(chance, deep - 1)})" for _ in range(chance.randint(2, 3))]
        return chance.choice([" AND ", " AND ", " OR "]).join(parts)
    first, last = sorted(f"DATE '{chance.choice(DAYS)}'" for _ in range(2))
    column = chance.choice(["d", "d", "d", "TRY_CAST(d AS DATE)", "other"])
    return chance.choice(
        [
            f"{column} {chance.choice(['<', '<=', '>', '>=', '=', '<>'])} {first}",
            f"{column} BETWEEN {first} AND {last}",
            f"{column} {chance.choice(['IN', 'IN', 'NOT IN'])} ({first}, {last})",
            f"{column} IS NOT DISTINCT FROM {first}",
            f"NOT ({column} >= {first})",
            f"COALESCE(d, {first}) = {first}",
            f"d IS {chance.choice(['', 'NOT '])}NULL",
            "site = 1",
        ]
    )


def uncovered(periods_read: Callable[[Question, Per], tuple[str, ...] | None], seeds: Sequence[int]) -> list[str]:
    """Rows that meet WHERE in a period that is not among those that the question is said to read."""
    found, limited = [], 0
    for seed in seeds:
        chance = random.Random(seed)
        question, per = asked(random_where(chance)), Per(chance.choice(sorted(GRANULARITIES)), "d")
        names = periods_read(question, per)
        limited += names is not None
        for day in DAYS if names is not None else ():
            for other in (DAYS[0], day):
                row = {"d": day, "other": other, "site": 1}
                if holds(question.where, row) and per.period_of(day) not in names:  # type: ignore[arg-type, operator]
                    found.append(f"{question.text}: {day}")
    assert limited > len(seeds) // 20
    return found


def test_every_row_that_meets_where_lies_in_a_period_that_is_read() -> None:
    assert uncovered(periods_of, range(1500)) == []


def test_a_rule_that_forgets_a_period_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The faults: the last period is not charged; a part of an OR counts as a limit."""
    assert uncovered(lambda *asked: (found := periods_of(*asked)) and found[:-1], range(400))
    or_as_and = periods.__dict__["_conjuncts"]

    def every_part(where, per):
        test = where.test
        if isinstance(test, periods.AndOr):
            where = type(where)(periods.AndOr("AND", test.parts))
        return or_as_and(where, per)

    monkeypatch.setattr(periods, "_conjuncts", every_part)
    assert uncovered(periods_of, range(400))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("d >= DATE '2025-01-15' AND d < DATE '2025-03-01'", ("2025-01", "2025-02")),
        ("d = DATE '2025-01-15' AND site = 1", ("2025-01",)),
        ("d IN (DATE '2025-01-15', DATE '2025-07-01')", ("2025-01", "2025-07")),
        ("d >= DATE '2025-01-15'", None),
        ("d >= DATE '2025-01-15' OR d < DATE '2025-03-01'", None),
        ("d >= '2025-01-15' AND d < '2025-03-01'", None),  # compared letter by letter
        ("d >= TIMESTAMP '2025-01-15 00:00:00' AND d < TIMESTAMP '2025-03-01 00:00:00'", None),
        ("d > DATE '2025-03-01' AND d < DATE '2025-01-01'", None),  # no row at all: charged to all, to be safe
        ("COALESCE(d, DATE '2025-01-15') = DATE '2025-01-15'", None),
        ("d >= DATE '0001-01-01' AND d <= DATE '9999-12-31'", None),
    ],
)
def test_the_periods_of_some_conditions(where: str, expected: tuple[str, ...] | None) -> None:
    assert periods_of(asked(where), Per("month", "d")) == expected


def test_several_questions_read_the_periods_of_all_of_them() -> None:
    months = [asked(f"d = DATE '2025-{month:02d}-01'") for month in (3, 1, 3)]
    assert periods_of_questions(months, Per("month", "d")) == ("2025-01", "2025-03")
    assert periods_of_questions([*months, asked("site = 1")], Per("month", "d")) is None
    many = [asked(f"d = DATE '{year}-01-01'") for year in range(1500, 1500 + MAX_PERIODS + 1)]
    assert periods_of_questions(many, Per("year", "d")) is None


@pytest.mark.parametrize("per", sorted(GRANULARITIES))
def test_periods_between_two_days_are_those_of_each_day(per: str) -> None:
    chance = random.Random(5)
    for _ in range(40):
        first = date(2019, 12, 1) + timedelta(days=chance.randrange(900))
        last = first + timedelta(days=chance.randrange(800))
        each = {period_of(first + timedelta(days=k), per) for k in range((last - first).days + 1)}
        assert periods_between(first, last, per, 1000) == tuple(sorted(each))
        assert periods_between(first, last, per, len(each) - 1) is None
    assert periods_between(date(9999, 12, 30), date.max, per, 9) is not None
    assert [period_of(date.fromisoformat(day), per) for day in EXAMPLE_SPANS[per]] == list(
        periods_between(*map(date.fromisoformat, EXAMPLE_SPANS[per]), per, 2) or ()
    )


# ------------------------------------------------------------------------------------------------ releases

QUESTION = "SELECT site, COUNT(*) FROM visits WHERE {} GROUP BY site"
MARCH = QUESTION.format("visit_date >= DATE '2025-03-01' AND visit_date < DATE '2025-04-01'")
APRIL = QUESTION.format("visit_date BETWEEN DATE '2025-04-01' AND DATE '2025-04-30'")


@pytest.fixture
def visits(tmp_path: Path) -> dc.Dataset:
    rows = [
        f"p{p},{p % 3 + 1},2025-{month:02d}-{p % 28 + 1:02d}" for p in range(40) for month in range(1, 13)
        if p * month % 5
    ]  # fmt: skip
    (tmp_path / "visits.csv").write_text("person,site,visit_date\n" + "\n".join([*rows, "p1,1,soon"]) + "\n")
    book = dc.Ledger.create(tmp_path / "visits.ledger", dataset="visits", unit="person", epsilon=2, per="month")
    return dc.Dataset(
        name="visits", data=tmp_path / "visits.csv", unit="person", unit_name="person", per="month:visit_date",
        columns={"site": range(1, 4)}, ledger=book,
    )  # fmt: skip


def ask(data: dc.Dataset, question: str = MARCH, **fields: object) -> dc.Release:
    return data.plan(question, **{"epsilon": 1, "max_groups": 1, **fields}).release()  # type: ignore[arg-type]


def test_a_question_is_charged_to_the_months_that_it_reads(visits: dc.Dataset) -> None:
    book = visits.ledger
    for question in (MARCH, APRIL, MARCH.replace("COUNT(*)", "COUNT_IF(site > 1)")):
        ask(visits, question)
    assert [book.left(month).epsilon for month in ("2025-03", "2025-04", "2025-05")] == [0, 1, 2]
    with refused(BudgetExceeded):
        ask(visits, MARCH.replace("COUNT(*)", "COUNT_IF(site > 2)"))
    with refused(BudgetExceeded):  # it reads every month, March too
        ask(visits, QUESTION.format("site > 0"))
    assert [book.left(month).epsilon for month in ("2025-03", "2025-04", "2025-05")] == [0, 1, 2]
    assert not ask(visits).fresh  # the same question has one answer, for nothing


def test_a_question_about_all_months_takes_from_each_also_from_months_never_named(visits: dc.Dataset) -> None:
    ask(visits)
    ask(visits, QUESTION.format("site > 0"), epsilon="1/2")
    left = [visits.ledger.left(month).epsilon for month in ("2025-03", "2025-04", "2031-01")]
    assert left == [Fraction(1, 2), Fraction(3, 2), Fraction(3, 2)]


def test_ledgers_of_people_and_of_months_never_mix(visits: dc.Dataset, tmp_path: Path) -> None:
    people = dc.Ledger.create(tmp_path / "people.ledger", dataset="visits", unit="person", epsilon=2)
    common = {"data": tmp_path / "visits.csv", "unit": "person", "max_groups": 1, "domain": {"site": range(1, 4)}}
    for book, per in ((people, "month:visit_date"), (visits.ledger, None), (visits.ledger, "week:visit_date")):
        fields = {} if per is None else {"per": per}
        with refused(InvalidInput, argument="ledger"):
            dc.release_counts(MARCH, ledger=book, epsilon=1, **common, **fields)  # type: ignore[arg-type]
    assert people.spent().epsilon == visits.ledger.spent().epsilon == 0
    with refused(InvalidInput):
        dc.Dataset(name="visits", data=tmp_path / "visits.csv", unit="person", ledger=visits.ledger).plan(
            "SELECT COUNT(*) FROM visits", epsilon=1
        ).release()


def test_the_first_release_fixes_the_date_column(visits: dc.Dataset, tmp_path: Path) -> None:
    ask(visits)
    with refused(InvalidInput, argument="per", token="month:visit_date"):
        dc.release_counts(
            "SELECT COUNT(*) FROM visits", data=tmp_path / "visits.csv", unit="person", per="month:site", epsilon=1,
            ledger=visits.ledger,
        )  # fmt: skip


def test_a_bundle_states_the_month_and_is_proved_again(visits: dc.Dataset, tmp_path: Path) -> None:
    release = visits.plan(MARCH, epsilon=1, max_groups=1).release(tmp_path / "out")
    request = json.loads((tmp_path / "out" / "request.json").read_text())
    assert request["per"] == "month:visit_date" == json.loads((tmp_path / "out" / "release.json").read_text())["per"]
    assert dc.verify_bundle(tmp_path / "out", ledger=visits.ledger).holds
    assert plan_from_request(request).periods == release.plan.periods == ("2025-03",)
    guarantee = (tmp_path / "out" / "GUARANTEE.md").read_text()
    assert "one person" in guarantee and "2025-03" in guarantee and "person-months" in guarantee
    for forged in ("month : visit_date", "decade:visit_date", "MONTH:visit_date", 7):
        with refused(InvalidInput):
            plan_from_request({**request, "per": forged})


def test_a_period_that_was_not_charged_is_found(
    visits: dc.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = QUESTION.format("visit_date >= DATE '2025-03-01' AND visit_date < DATE '2025-05-01'")
    plan = visits.plan(question, epsilon=1, max_groups=1)
    with monkeypatch.context() as fault:
        fault.setattr(Plan, "periods", property(lambda self: ("2025-03",)))
        release = plan.release()
    release.save(tmp_path / "out")
    assert visits.ledger.left("2025-04").epsilon == 2
    report = dc.verify_bundle(tmp_path / "out", ledger=visits.ledger)
    assert not report.holds and [one.name for one in report.checks if one.holds is False] == ["ledger"]


def test_a_request_without_a_period_says_nothing_of_it(tmp_path: Path) -> None:
    def plan(**fields: object) -> Plan:
        return dc.plan_release("SELECT COUNT(*) FROM visits", data="visits", unit="person", epsilon=1, **fields)  # type: ignore[arg-type]

    assert "per" not in plan().request and plan().periods is None
    assert plan().key == plan_from_request(plan().request).key != plan(per="month:d").key
    assert plan(per="Month: d").key == plan(per=Per("month", "d")).key != plan(per="week:d").key


def test_a_row_has_no_month() -> None:
    with refused(InvalidInput, argument="per"):
        dc.plan_release("SELECT COUNT(*) FROM visits", data="visits", unit="row", per="month:d", epsilon=1)
    for wrong in ("month", "decade:d", ":d", "month:", 7):
        with refused(InvalidInput, argument="per", given=wrong):
            dc.plan_release("SELECT COUNT(*) FROM visits", data="visits", unit="person", per=wrong, epsilon=1)  # type: ignore[arg-type]


def test_many_tables_at_once_are_not_made_by_month() -> None:
    """They choose one record of a whole person, which another month could displace."""
    fields = {"unit": "person", "epsilon": 1, "domain": {"sex": ["f", "m"], "site": range(3)}, "tables": 1}
    question = "SELECT sex, site, COUNT(*) FROM visits GROUP BY sex, site"
    assert dc.plan_release(question, data="visits", **fields).cells  # type: ignore[arg-type]
    with refused(InvalidInput, argument="per"):
        dc.plan_release(question, data="visits", per="month:d", **fields)  # type: ignore[arg-type]


def test_the_date_column_is_followed_through_a_view(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as base:
        base.execute("CREATE TABLE stays (pid VARCHAR, begun TIMESTAMP, ward INTEGER)")
        base.execute("INSERT INTO stays VALUES ('ann', TIMESTAMP '2025-03-31 23:59:59', 1)")
        base.execute("CREATE VIEW visits AS SELECT pid AS person, begun AS visit_date, ward FROM stays")
    plan = dc.plan_release(
        "SELECT COUNT(*) FROM visits WHERE visit_date = DATE '2025-03-31'", data=tmp_path / "clinic.duckdb",
        unit="person", per="month:VISIT_DATE", epsilon=1,
    )  # fmt: skip
    assert (plan.protection.unit, plan.protection.per, plan.periods) == ("pid", Per("month", "begun"), ("2025-03",))


def test_a_column_without_days_is_refused_by_its_type(tmp_path: Path) -> None:
    for kind in ("INTEGER", "TIMESTAMP WITH TIME ZONE", "BOOLEAN"):
        frame = duckdb.sql(f"SELECT 'ann' AS person, CAST(NULL AS {kind}) AS d").to_arrow_table()
        with refused(InvalidInput):
            dc.plan_release(
                "SELECT COUNT(*) FROM visits", data=frame, dataset="visits", unit="person", per="month:d", epsilon=1
            )


def test_contributions_are_counted_by_month(visits: dc.Dataset, tmp_path: Path) -> None:
    histogram = dc.contributions(
        QUESTION.format("site > 0"), data=tmp_path / "visits.csv", unit="person", unit_name="person",
        per="month:visit_date", domain={"site": range(1, 4)}, epsilon=1, ledger=visits.ledger,
    )  # fmt: skip
    assert "person-months" in histogram.describe() and visits.ledger.left("2025-07").epsilon == 1


# ------------------------------------------------------------------------------------------------ declarations


def test_a_dataset_file_declares_the_month_and_each_table_its_own_date(tmp_path: Path) -> None:
    text = (
        'format = "discreet dataset"\ndataset = "clinic"\nunit = "person"\nper = "month:visit_date"\n'
        '[tables.visits]\ndata = "visits.csv"\n[tables.bills]\ndata = "bills.csv"\nper = "month:billed"\n'
    )
    declaration = Declaration.from_text(text, tmp_path / "clinic.toml")
    assert [declaration.per_of(table) for table in declaration.tables] == [
        Per("month", "visit_date"), Per("month", "billed"),
    ]  # fmt: skip
    again = Declaration.from_text(declaration.text(), tmp_path / "again.toml")
    assert replace(again, path=None) == replace(declaration, path=None)
    for wrong in (text.replace("month:billed", "week:billed"), text.replace('per = "month:visit_date"\n', "")):
        with refused(dc.errors.UnreadableFile):
            Declaration.from_text(wrong, tmp_path / "wrong.toml")
    with refused(dc.errors.UnreadableFile):
        Declaration.from_text(text.replace('unit = "person"', 'unit = "row"'), tmp_path / "wrong.toml")
    assert dc.Dataset.of(declaration).plan("SELECT COUNT(*) FROM bills", epsilon=1).protection.per == Per(
        "month", "billed"
    )
    with refused(InvalidInput, argument="per"):
        dc.Dataset.of(declaration).plan("SELECT COUNT(*) FROM bills", epsilon=1, per="month:billed")


# ------------------------------------------------------------------------------------------------ several months


def test_months_read_by_releases_of_their_own_add_epsilons_and_deltas() -> None:
    """The exact delta of two independent releases at twice the epsilon is below twice the delta; above one delta."""
    ratio, delta = Fraction(2), Fraction(1, 50)
    with_unit = {"named": delta, "high": ratio / (1 + ratio) * (1 - delta), "low": 1 / (1 + ratio) * (1 - delta)}
    without = {"named": Fraction(0), "high": 1 / (1 + ratio), "low": ratio / (1 + ratio)}
    assert hockey_stick([with_unit], [without], ratio) <= delta
    together = hockey_stick([with_unit] * 2, [without] * 2, ratio**2)
    assert delta < together <= 2 * delta


def hockey_stick(with_unit: Sequence[dict[str, Fraction]], without: Sequence[dict[str, Fraction]], ratio: Fraction) -> (
    Fraction
):  # fmt: skip
    """Return the exact delta of independent outcomes, both ways round."""
    outcomes = [()]  # type: ignore[var-annotated]
    for one in with_unit:
        outcomes = [(*before, name) for before in outcomes for name in one]

    def law(laws: Sequence[dict[str, Fraction]], outcome: Sequence[str]) -> Fraction:
        return math.prod((law[name] for law, name in zip(laws, outcome, strict=True)), start=Fraction(1))

    pairs = [(law(with_unit, one), law(without, one)) for one in outcomes]
    return max(sum(max(p - ratio * q, Fraction(0)) for p, q in order) for order in (pairs, [(q, p) for p, q in pairs]))


@pytest.mark.parametrize("months", [1, 2, 3, 5])
def test_months_read_by_one_release_cost_the_delta_of_as_many_steps(months: int) -> None:
    """The optimal selection of partitions reaches ``delta (e^(m eps) - 1)/(e^eps - 1)`` exactly; m deltas are less."""
    ratio, delta = Fraction(2), Fraction(1, 1000)
    named = [Fraction(0)]
    for _ in range(months):
        named.append(min(ratio * named[-1] + delta, 1 - (1 - named[-1] - delta) / ratio, Fraction(1)))
    exact = max(named[months] - ratio**months * named[0], Fraction(0))
    assert exact == delta * (ratio**months - 1) / (ratio - 1)
    assert months == 1 or exact > months * delta


def test_months_read_by_one_release_cost_their_square_in_rho() -> None:
    """A shift by m has the Renyi divergence ``m^2 alpha rho``: of the discrete Gaussian, for whole orders, exactly."""
    variance = 9
    total = math.fsum(math.exp(-(k**2) / (2 * variance)) for k in range(-90, 91))
    for months in (1, 2, 3):
        for order in (2, 3, 5):
            exponents = (order * k**2 + (1 - order) * (k - months) ** 2 for k in range(-90, 91))
            moment = math.fsum(math.exp(-exponent / (2 * variance)) for exponent in exponents) / total
            divergence = math.log(moment) / (order - 1)
            assert divergence == pytest.approx(order * months**2 / (2 * variance), rel=1e-9)


def test_the_guarantee_says_what_several_months_cost() -> None:
    def words(where: str, **fields: object) -> str:
        plan = dc.plan_release(
            QUESTION.format(where), data="visits", unit="person", unit_name="person", per="month:visit_date",
            max_groups=1, domain={"site": range(1, 4)}, epsilon=1, **fields,
        )  # type: ignore[arg-type]  # fmt: skip
        return " ".join(plan.guarantee)

    march = "visit_date >= DATE '2025-03-01' AND visit_date < DATE '2025-04-01'"
    spring = march.replace("2025-04", "2025-06")
    gaussian = {"mechanism": "discrete-gaussian", "delta": "1e-6"}
    assert "m times this epsilon" in words(march) and "k times" not in words(march)
    assert "m times this delta" in words(march, **gaussian)
    assert "k times this epsilon" in words(spring) and "at most 3" in words(spring)
    assert "k squared" in words(spring, **gaussian) and "k = 2" in words(spring, **gaussian)
    assert "k times this epsilon" in words("site > 0") and "at most 3" not in words("site > 0")
    substitution = words(march, relation="substitution")
    assert "in each month" in substitution and "same month" in substitution


def test_rows_without_a_day_are_said_to_be_missing_from_declared_and_from_found_groups() -> None:
    fields = {"data": "visits", "unit": "person", "epsilon": 1, "delta": "1e-6", "max_groups": 1}
    for groups in ({"discover": "site"}, {"domain": {"site": range(1, 4)}, "mechanism": "discrete-gaussian"}):
        by_month, whole = (
            " ".join(dc.plan_release(QUESTION.format("x > 0"), **fields, **groups, per=per).guarantee)  # type: ignore
            for per in ("month:visit_date", None)
        )
        assert "a day in visit_date" in by_month and "without a day" not in whole
