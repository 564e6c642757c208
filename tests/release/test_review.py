"""Attacks on a release that once succeeded, each kept so that it does not again."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import discreet as dc
from discreet.engines.sources import Counting, open_source
from discreet.errors import InvalidInput
from discreet.files import rebuild
from discreet.mechanism import fingerprint
from discreet.release.plan.plan import plan_from_request
from discreet.release.plan.planning import plan_release

BY_SITE = "SELECT site, COUNT(*) FROM visits GROUP BY site"


def proposed(**options: Any) -> Any:
    asked = {"data": "visits", "unit": "person", "max_groups": 1, "domain": {"site": range(3)}, "epsilon": 1} | options
    return plan_release(BY_SITE, **asked)


# ------------------------------------------------------------------------------------------------ whose data


@pytest.fixture
def table_with_a_column_called_row(tmp_path: Path) -> Path:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as engine:
        engine.execute('CREATE TABLE visits ("row" VARCHAR, site INTEGER)')
        engine.execute("INSERT INTO visits SELECT 'ann', 1 FROM range(1000)")
        engine.execute('CREATE VIEW people AS SELECT "row" AS person, site FROM visits')
    return path


@pytest.mark.parametrize(("table", "unit"), [("visits", "Row"), ("visits", "ROW"), ("people", "person")])
def test_a_column_called_row_is_never_taken_for_the_rows(
    table_with_a_column_called_row: Path, table: str, unit: str
) -> None:
    """The name of the unit was looked up and became "row", so that nobody's contributions were bounded."""
    with pytest.raises(InvalidInput, match="another name"):
        plan_release(
            BY_SITE.replace("visits", table),
            data=table_with_a_column_called_row,
            unit=unit,
            domain={"site": range(3)},
            epsilon=1,
        )


# ------------------------------------------------------------------------------------------------ what it costs


def stated(mechanism: dc.Mechanism, rho: str) -> dc.Mechanism:
    """The same mechanism from a file that states a rho of its own."""
    content = json.loads(json.dumps(mechanism.describe()))
    content["certificate"]["details"]["zcdp_rho"] = rho
    content["sha256"] = fingerprint(content)
    return rebuild(content, "a file")


def test_the_rho_that_a_file_states_is_not_believed(tmp_path: Path) -> None:
    """A ledger that adds up rho could be overspent by a mechanism file with a small made-up one."""
    honest = dc.from_matrix([["0.9", "0.1"], ["0.1", "0.9"]])
    lying = stated(honest, "1/1000000000")
    assert "zcdp_rho" not in lying.certificate.details
    costs = [
        plan_release("SELECT COUNT(*) FROM visits", data="visits", unit="person", mechanism=one, epsilon=3).cost
        for one in (honest, lying)
    ]
    assert costs[0] == costs[1]
    assert costs[1].rho is not None and costs[1].rho >= Fraction(24, 10)  # log(9)^2/2 = 2.4139


def test_the_rho_of_gaussian_noise_is_that_of_its_sigma2() -> None:
    plan = proposed(mechanism=dc.discrete_gaussian(sigma2=10), epsilon=None, delta="1e-6", max_groups=2)
    assert plan.cost.rho == 2 * Fraction(1, 20)


# ------------------------------------------------------------------------------------------------ forged requests


def forged(change: dict[str, Any], table: dict[str, Any], **options: Any) -> dict[str, Any]:
    request = copy.deepcopy(proposed(**options).request)
    request.update(change)
    request["tables"][0].update(table)
    return request


def test_groups_that_are_not_those_of_the_question_are_refused() -> None:
    """One group instead of many would make a substitution move one cell instead of two."""
    from discreet.questions.groups import TOTAL

    assert proposed(relation="substitution").tables[0].sensitivity == 2
    with pytest.raises(InvalidInput, match="do not fit"):
        plan_from_request(forged({}, {"groups": TOTAL.describe()}, relation="substitution"))


@pytest.mark.parametrize(
    ("change", "table"),
    [
        ({"level": "7"}, {}),
        ({"epsilon": "1e999999999"}, {}),
        ({"delta": "1e-999999999"}, {}),
        ({}, {"share": "1e999999999"}),
        ({}, {"suppress_below": "3"}),
    ],
)
def test_damaged_numbers_in_a_request_are_refused_at_once(change: dict[str, Any], table: dict[str, Any]) -> None:
    """A number with a huge exponent kept whoever checked the bundle busy for ever."""
    with pytest.raises(InvalidInput):
        plan_from_request(forged(change, table))


def test_noise_for_another_number_of_cells_is_refused() -> None:
    sizes = [{"site": site, "size": 9} for site in range(3)]
    other = [{"site": site, "size": 9} for site in range(4)]
    noise = proposed(sizes=other, domain={"site": range(4)}).request["tables"][0]["noise"]
    with pytest.raises(InvalidInput, match="another number of cells"):
        plan_from_request(forged({}, {"noise": noise}, sizes=sizes))


# ------------------------------------------------------------------------------------------------ the request in Python


def test_numbers_of_numpy_make_the_same_request() -> None:
    """They could not be written as JSON, which showed as a TypeError."""
    assert (
        proposed(max_groups=np.int64(2), suppress_below=np.int64(3)).key == proposed(max_groups=2, suppress_below=3).key
    )


@pytest.mark.parametrize("edition", ["\udc80", "2026\n11", "\x1b[31m"])
def test_an_edition_is_printable(edition: str) -> None:
    with pytest.raises(InvalidInput, match="printable"):
        proposed(edition=edition)


# ------------------------------------------------------------------------------------------------ failing after paying


@pytest.fixture
def everywhere(tmp_path: Path) -> Path:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as engine:
        engine.execute("CREATE TABLE visits AS SELECT i % 2 AS person, i // 2 AS site FROM range(400) AS r(i)")
    return path


def counted(path: Path, max_groups: int) -> list[int]:
    source = open_source(path)
    plan = plan_release(BY_SITE, data=source, unit="person", max_groups=1, domain={"site": range(200)}, epsilon=1)
    table = plan.tables[0]
    (counts,) = source.count([Counting(table.question, table.groups, "person", max_groups, b"key")])
    return [int(number) for number in counts.reshape(-1)]


@pytest.mark.parametrize("max_groups", [10**6, 2**70])
def test_a_large_max_groups_is_counted(everywhere: Path, max_groups: int) -> None:
    """The engine's own limit of a million made the release fail after its budget was spent."""
    assert counted(everywhere, max_groups) == [2] * 200
