"""Requests as people have made them, of every kind of table and noise: what was published for them must stay valid.

``published/keys.json`` holds the key of each in the ledger, ``published/version_0_2/`` bundles of some, with the ledger
that paid. Nothing there is ever written anew: a program that gives other keys would draw, and charge, a second answer.
"""

from __future__ import annotations

from typing import Any

import discreet as dc
from support.paths import PUBLISHED, VISITS

KEYS = PUBLISHED / "keys.json"
BUNDLES = PUBLISHED / "version_0_2"

BY_SITE = "SELECT site, COUNT(*) FROM doctor_visits GROUP BY site"
BY_BOTH = "SELECT site, health, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY site, health"
SITE = {"site": range(1, 7)}
HEALTH = ["excellent", "good", "fair", "poor"]
PERSON = {"unit": "person", "max_groups": 1, "epsilon": 1}
ROW = {"unit": "row", "epsilon": 1}
PTABLE = {"mechanism": "discrete-gaussian", "delta": "1e-6"}
SIZES = [{"site": site, "size": 4000} for site in range(1, 7)]
ONE_AGE_BAND = "SELECT age, COUNT(*) FROM doctor_visits GROUP BY age"


def _request(
    questions: str | list[str], *options: dict[str, Any], **more: Any
) -> tuple[str | list[str], dict[str, Any]]:
    fields: dict[str, Any] = {}
    for some in (*options, more):
        fields |= some
    return questions, fields


#: Questions and fields of requests, by a name.
REQUESTS = {
    "by_site": _request(BY_SITE, PERSON, domain=SITE),
    "by_site_of_rows": _request(BY_SITE, ROW, domain=SITE),
    "total": _request("SELECT COUNT(*) FROM doctor_visits", PERSON),
    "people": _request("SELECT COUNT(DISTINCT person) FROM doctor_visits", PERSON),
    "several_aggregates": _request(
        "SELECT site, COUNT(*), COUNT(*) FILTER (WHERE year = 1) FROM doctor_visits GROUP BY site", ROW, domain=SITE
    ),
    "by_both": _request(BY_BOTH, PERSON, domain=SITE | {"health": HEALTH}),
    "rest": _request(BY_BOTH, PERSON, domain=SITE | {"health": ["good", "poor", "*"]}),
    "missing": _request(BY_BOTH, PERSON, domain=SITE | {"health": [*HEALTH, None]}),
    "zeros": _request(BY_BOTH, PERSON, domain=SITE | {"health": HEALTH}, zeros=[{"site": 1, "health": "poor"}]),
    "listed": _request(BY_BOTH, PERSON, groups=[{"site": 1, "health": "good"}, {"site": 2, "health": "poor"}]),
    "suppressed": _request(BY_BOTH, PERSON, domain=SITE | {"health": HEALTH}, suppress_below=10),
    "bands": _request(ONE_AGE_BAND, PERSON, bands={"age": "18,30,45,65"}),
    "bands_and_rest": _request(
        "SELECT sex, age, COUNT(*) FROM doctor_visits GROUP BY sex, age", PERSON,
        domain={"sex": ["female", "*"]}, bands={"age": "18,30,45,65"},
    ),
    "bands_in_sql": _request(
        "SELECT CASE WHEN age < 18 THEN 'young' WHEN age < 65 THEN 'adult' WHEN age >= 65 THEN 'old' END AS stage, "
        "COUNT(*) FROM doctor_visits GROUP BY stage", PERSON,
    ),
    "decades": _request(
        "SELECT floor(age / 10) * 10 AS decade, COUNT(*) FROM doctor_visits GROUP BY decade", PERSON,
        bands={"age": "0..60:10"},
    ),
    "totals": _request(BY_BOTH, PERSON, domain=SITE | {"health": HEALTH}, totals="all"),
    "totals_split": _request(BY_BOTH, PERSON, domain=SITE | {"health": HEALTH}, totals="site", split=[1, 1]),
    "rollup": _request(
        "SELECT site, health, COUNT(*) FROM doctor_visits GROUP BY ROLLUP (site, health)", PERSON,
        domain=SITE | {"health": HEALTH},
    ),
    "cube_gaussian": _request(
        "SELECT site, health, COUNT(*) FROM doctor_visits GROUP BY CUBE (site, health)", PERSON, PTABLE,
        domain=SITE | {"health": HEALTH}, counts="signed",
    ),
    "grouping_sets": _request(
        "SELECT site, health, COUNT(*) FROM doctor_visits GROUP BY GROUPING SETS ((site, health), (site))", PERSON,
        domain=SITE | {"health": HEALTH},
    ),
    "discovered": _request(
        "SELECT plan, COUNT(*) FROM doctor_visits GROUP BY plan", PERSON, discover="plan", delta="1e-6"
    ),
    "discovered_within": _request(
        "SELECT site, plan, COUNT(*) FROM doctor_visits GROUP BY site, plan", PERSON, domain=SITE, discover="plan",
        delta="1e-6",
    ),
    "discovered_in_two": _request(
        "SELECT plan, COUNT(*) FROM doctor_visits GROUP BY plan", PERSON, max_groups=2, discover="plan", delta="1e-6"
    ),
    "discovered_of_rows": _request(
        "SELECT plan, COUNT(*) FROM doctor_visits GROUP BY plan", ROW, discover="plan", delta="1e-6", one_row_each=True
    ),
    "gaussian": _request(BY_SITE, PERSON, PTABLE, domain=SITE, max_groups=3),
    "signed": _request(BY_SITE, PERSON, domain=SITE, counts="signed"),
    "in_range": _request(BY_SITE, PERSON, domain=SITE, counts="in-range", bound=6000),
    "explicit_fair": _request(BY_SITE, PERSON, domain=SITE, mechanism="explicit-fair", bound=40),
    "rounded_laplace": _request(BY_SITE, PERSON, domain=SITE, mechanism="rounded-laplace", bound=60),
    "randomized_response": _request(BY_SITE, PERSON, domain=SITE, mechanism="randomized-response", bound=12),
    "design": _request(BY_SITE, PERSON, domain=SITE, properties="WH+CM", bound=12),
    "sizes": _request(BY_SITE, ROW, domain=SITE, sizes=SIZES),
    "substitution": _request(BY_SITE, PERSON, domain=SITE, relation="substitution"),
    "by_error": _request(BY_SITE, {"unit": "person", "max_groups": 1, "error": 10}, domain=SITE),
    "several_groups": _request(BY_BOTH, PERSON, domain=SITE | {"health": HEALTH}, max_groups=4),
    "several_questions": _request(
        [BY_SITE, "SELECT health, COUNT(*) FROM doctor_visits GROUP BY health"], PERSON,
        domain=SITE | {"health": HEALTH}, split=[2, 1],
    ),
    "edition": _request(BY_SITE, PERSON, domain=SITE, edition="2026-Q1"),
    "renamed": _request(BY_SITE, PERSON, domain=SITE, dataset="rand_study", edition="2026-Q1"),
    "other_level": _request(BY_SITE, PERSON, domain=SITE, level="0.9"),
    "odd_conditions": _request(
        "SELECT COUNT(*) FROM doctor_visits WHERE (age BETWEEN 18 AND 65 AND sex IN ('male', 'female')) "
        "OR health IS NULL OR NOT plan LIKE '1%'", PERSON,
    ),
}  # fmt: skip

#: Requests whose bundles were kept.
KEPT = (
    "by_site", "by_site_of_rows", "several_aggregates", "by_both", "rest", "suppressed", "zeros", "bands_and_rest",
    "totals", "cube_gaussian", "discovered", "discovered_within", "gaussian", "design", "several_questions", "edition",
)  # fmt: skip


def planned(name: str, data: Any = str(VISITS), **more: Any) -> Any:
    """Plan a request; nothing is read."""
    questions, fields = REQUESTS[name]
    return dc.plan_release(questions, data=data, **(fields | more))
