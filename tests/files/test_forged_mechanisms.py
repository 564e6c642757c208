"""A forger alters, removes, adds and repeats every field of mechanism files and renews their digests.

Each change is refused, or changes nothing in what is loaded, or concerns what ``certificate.unproved`` names, or makes
another mechanism of which the stated claim was proved.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator

import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.files import mechanism_from_text
from discreet.mechanism import Mechanism, fingerprint
from support.forging import Change, json_changes
from support.tiers import full

FILE = "mechanism.json"

MECHANISMS: dict[str, Callable[[], Mechanism]] = {
    "design": lambda: dc.design(5, alpha="9/10", loss="L1", properties=["WH", "CM"]),
    "closed form": lambda: dc.explicit_fair(5, alpha="9/10"),
    "on a range": lambda: dc.two_sided_geometric(epsilon=1).on(dc.Counts(9)),
    "gaussian": lambda: dc.discrete_gaussian(sigma2=4),
    "labels": lambda: dc.randomized_response(["yes", "no", "ä"], epsilon=1),
    "map": lambda: dc.planar_geometric(dc.Grid(3, 3, cell=100), epsilon="1/100"),
    "matrix": lambda: dc.from_matrix(dc.geometric(3, epsilon=1).matrix, privacy=1),
    "exact matrix": lambda: dc.from_matrix([["1/2", "1/2"], ["1/4", "3/4"]]),
    "delta": lambda: dc.bounded_noise(epsilon=2, stay="1/2", reach=3, kind="all-counts"),
    "p-table": lambda: dc.design_ptable(epsilon=2, reach=2, stay="1/2", keys=64).mechanism(),
    "design with a delta": lambda: dc.design(4, alpha="1/2", delta="1/100", loss="L0", properties=["F"]),
    "product": lambda: dc.randomized_response(["a", "b"], alpha="1/3") * dc.randomized_response(3, alpha="1/2"),
}


def changes(mechanism: Mechanism) -> Iterator[Change]:
    text = json.dumps(mechanism.to_json(), indent=1) + "\n"
    return json_changes({FILE: text.encode()}, FILE)


def stated(mechanism: Mechanism) -> dict[str, object]:
    """Return what a mechanism states by name, beside its numbers and the claim."""
    return {"family": mechanism.family, **mechanism.parameters, **mechanism.certificate.details}


def accepted_wrongly(original: Mechanism, change: Change) -> str | None:
    """Say what is wrong with how a changed file is read; None if nothing is."""
    try:
        loaded = mechanism_from_text(change.files[FILE], FILE)
    except DiscreetError:
        return None
    certificate = loaded.certificate
    claims = math.isfinite(certificate.epsilon)
    if claims and not dc.verify(loaded, certificate.notion).holds(certificate.epsilon, certificate.delta):
        return f"{change}: a claim that does not hold"
    if loaded != original:
        return None
    before, after = stated(original), stated(loaded)
    differing = {name for name in {*before, *after} if json.dumps(before.get(name)) != json.dumps(after.get(name))}
    # which properties it has was checked; which ones were asked for belongs to what is said of the least cost
    odd = differing & {*after} - {*certificate.unproved, "properties"}
    return f"{change}: {sorted(odd)} is not called unproved" if odd else None


@pytest.mark.parametrize("name", ["design", "closed form"])
def test_a_forged_mechanism_file_is_refused_or_says_what_is_unproved(name: str) -> None:
    mechanism = MECHANISMS[name]()
    assert [odd for change in changes(mechanism) if (odd := accepted_wrongly(mechanism, change))] == []


@full
@pytest.mark.parametrize("name", MECHANISMS)
def test_any_forged_mechanism_file_is_refused_or_says_what_is_unproved(name: str) -> None:
    mechanism = MECHANISMS[name]()
    assert [odd for change in changes(mechanism) if (odd := accepted_wrongly(mechanism, change))] == []


def test_a_field_that_is_named_twice_or_added_is_refused_everywhere() -> None:
    mechanism = MECHANISMS["design"]()
    twice = [change for change in changes(mechanism) if "named twice" in change.how]
    places = {"", "certificate"}
    added = [change for change in changes(mechanism) if change.how == "a field added" and change.field in places]
    assert twice and {change.field for change in added} == places
    for change in twice + added:
        with pytest.raises(DiscreetError):
            mechanism_from_text(change.files[FILE], FILE)


def test_what_the_file_of_a_closed_form_adds_is_called_unproved():
    content = dc.geometric(4, alpha="1/2").to_json()
    assert mechanism_from_text(json.dumps(content), FILE).certificate.unproved == ()
    content["parameters"] |= {"epsilon": "1/1000", "remark": "no mechanism costs less"}
    content["certificate"] |= {"how": "by hand", "tight": False, "details": {"least": 0.0}}
    content["sha256"] = fingerprint(content)
    unproved = mechanism_from_text(json.dumps(content), FILE).certificate.unproved
    assert set(unproved) == {"epsilon", "remark", "how", "tight", "details"}
