"""Arguments that are lists: a single value in their place is refused in words, wherever it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError, WrongType
from discreet.lists import read_list
from support.grids import every_case
from support.paths import VISITS
from support.refusals import refused

FOUR = dc.geometric(4, epsilon=1)
SQL = "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site"


def plan(questions: Any = SQL, **fields: Any) -> Any:
    return dc.plan_release(questions, data=VISITS, unit="person", max_groups=1, **{"epsilon": 1, **fields})


def dataset(columns: Any) -> dc.Dataset:
    return dc.Dataset(name="visits", data=VISITS, unit="person", columns=columns)


CALLS: dict[str, Callable[[Any], Any]] = {
    "releases": dc.compose,
    "labels": dc.Labels,
    "parts": dc.ProductSpace,
    "checked properties": lambda value: dc.check(FOUR, value),
    "properties": lambda value: dc.design(4, epsilon=1, properties=value),
    "chosen properties": lambda value: dc.choose(4, epsilon=1, properties=value),
    "prior": lambda value: dc.design(4, epsilon=1, prior=value),
    "families": lambda value: dc.compare(4, epsilon=1, families=value),
    "losses": lambda value: dc.compare(4, epsilon=1, loss=value),
    "swept epsilons": lambda value: dc.compare(4, epsilons=value),
    "alphas": lambda value: dc.design_each(3, alphas=value),
    "epsilons": lambda value: dc.design_each(3, epsilons=value),
    "places": dc.requirements.zeros,
    "reaches": lambda value: dc.noise_tradeoff(2.2, value, stays=[0.5]),
    "stays": lambda value: dc.noise_tradeoff(2.2, [4], stays=value),
    "between": lambda value: dc.calibrate("geometric", 4, truth=0.5, between=value),
    "editions": dc.compare_editions,
    "reconstructed families": lambda value: dc.compare_reconstruction(
        dc.Counts(4), [0.2] * 5, people=10, likelihood_ratio=2, families=value
    ),
    "by": lambda value: dataset({"site": range(1, 7)}).plan(by=value, max_groups=1, epsilon=1),
    "columns": dataset,
    "values of a column": lambda value: dataset({"site": value}),
    "questions": plan,
    "domain": lambda value: plan(domain=value),
    "values of a domain": lambda value: plan(domain={"site": value}),
    "groups": lambda value: plan(groups=value),
    "bands": lambda value: plan(bands={"site": value}),
    "split": lambda value: plan(domain={"site": range(1, 7)}, split=value),
    "discover": lambda value: plan(discover=value, delta=1e-8),
    "size": lambda value: FOUR.simulate([0, 1], seed=1, size=value),
}


@every_case("name", [name for name in CALLS if name not in ("reaches",)])
def test_a_single_value_in_place_of_a_list_is_refused_in_words(name: str) -> None:
    """NumPy's arrays without dimensions once gave Python's bare "iteration over a 0-d array"."""
    for value in (np.array(5), np.array(5.5), 5.5):
        with pytest.raises(DiscreetError):
            CALLS[name](value)


def test_one_reader_takes_whatever_holds_the_items() -> None:
    items = {
        "list": [1, 2],
        "tuple": (1, 2),
        "range": range(1, 3),
        "array": np.array([1, 2]),
        "keys": {1: 0, 2: 0}.keys(),
    }
    assert all(read_list(one, "values", "numbers") == [1, 2] for one in items.values())
    assert read_list((n for n in (1, 2)), "values", "numbers") == [1, 2]
    for wrong in ("ab", b"ab", {"a": 1}, None, 5, np.array(5), np.ma.masked_array([1], [True])):
        with pytest.raises(WrongType):
            read_list(wrong, "values", "numbers")
    with refused(WrongType, "values", allowed="a list of numbers"):
        read_list(np.array(5), "values", "numbers")


def test_arrays_and_single_losses_are_read_as_what_they_are() -> None:
    twice = dc.compose(np.array([dc.Privacy(1), dc.Privacy(1)], dtype=object), method="basic")
    assert twice.epsilon(0) == 2.0
    assert list(dc.compare(4, epsilon=1, families=["GM"], loss="L1")["GM"].costs) == ["L1"]
    assert dc.Labels(np.array(["a", "b"])).size == 2
