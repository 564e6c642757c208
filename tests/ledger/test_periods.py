"""Periods of the calendar: every name that exists is read, and no other."""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import product

import pytest

from discreet.errors import InvalidInput
from discreet.periods import GRANULARITIES, period_of, read_granularity, read_period
from support.refusals import refused

DAYS = [date(1999, 12, 25) + timedelta(days=k) for k in range(30 * 366)]


@pytest.mark.parametrize(
    ("per", "form", "numbers"),
    [
        ("week", "{}-W{:02}", (range(2000, 2029), range(56))),
        ("month", "{}-{:02}", (range(2000, 2029), range(14))),
        ("quarter", "{}-Q{}", (range(2000, 2029), range(6))),
        ("year", "{}", (range(2000, 2029),)),
        ("day", "{}-{:02}-{:02}", ((2000, 2024, 2026), range(14), range(33))),
    ],
)
def test_a_name_is_read_exactly_if_a_day_lies_in_the_period(per: str, form: str, numbers: tuple[range, ...]) -> None:
    names = {period_of(day, per) for day in DAYS}
    for parts in product(*numbers):
        name = form.format(*parts)
        if name in names:
            assert read_period(name, per) == name
        else:
            with refused(InvalidInput, argument="period", given=name):
                read_period(name, per)


@pytest.mark.parametrize("per", GRANULARITIES)
def test_names_of_other_granularities_and_other_spellings_are_refused(per: str) -> None:
    others = [name for other, name in GRANULARITIES.items() if other != per]
    own = GRANULARITIES[per]
    strange = [
        f"{own}\n",
        f" {own}",
        own.replace("2026", "٢٠٢٦"),
        own.replace("2026", "26"),
        own.lower() + "-",
        "",
        2026,
    ]
    for name in [*others, *strange]:
        with refused(InvalidInput, argument="period", given=name):
            read_period(name, per)


def test_weeks_are_those_of_iso_8601() -> None:
    for day in DAYS:
        assert period_of(day, "week") == day.strftime("%G-W%V")


def test_the_names_of_a_granularity_sort_in_time() -> None:
    for per in GRANULARITIES:
        names = [period_of(day, per) for day in DAYS]
        assert names == sorted(names) and all(re.fullmatch(r"[0-9QW-]+", name) for name in names)


def test_an_unknown_granularity_is_refused_with_the_nearest() -> None:
    assert read_granularity("month") == "month"
    with refused(InvalidInput, argument="per"):
        read_granularity("decade")
