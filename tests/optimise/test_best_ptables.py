"""What ``design_ptable`` claims to be the best, against brute force and a search of another make."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from support.grids import every_case
from support.noise_oracle import NoiseModel, least_delta_by_enumeration
from support.refusals import refused


def check_claims(table: dc.PTable, epsilon: Fraction, least: float) -> None:
    """Delta is the least where that is claimed, never below it, and the bound is one."""
    delta, bound, keys = table.about["delta"], table.about["lower_bound"], table.keys
    assert dc.verify(table).delta(epsilon) == delta
    assert bound <= delta and bound * keys <= least * (1 + 1e-7)
    assert delta * keys >= least * (1 - 1e-7)
    if table.about["proved_best"]:
        assert delta * keys <= least * (1 + 2e-6) + 2e-6


def test_an_asymmetric_table_is_found_where_it_is_better():
    table = dc.design_ptable("7/20", 2, stay="39/100", keys=16)
    assert table.about["delta"] < 0.33274 and table.about["proved_best"] is True
    check_claims(table, Fraction(7, 20), least_delta_by_enumeration(0.35, 2, 16, stay=0.39))


@every_case("seed", range(10))
def test_no_table_on_few_keys_is_better_by_brute_force(seed):
    check_by_brute_force(seed)


@pytest.mark.full
@every_case("seed", range(10, 30))
def test_no_table_on_few_keys_is_better_by_brute_force_over_many_settings(seed):
    check_by_brute_force(seed)


def check_by_brute_force(seed: int) -> None:
    """Every table is written down: reach 2 on up to 16 keys, reach 1 on up to 40."""
    r = random.Random(seed)
    reach = r.choice([1, 2, 2, 2])
    keys = r.randint(6, 40 if reach == 1 else 16)
    epsilon = Fraction(r.randint(5, 250), 100)
    asked = (
        {"stay": Fraction(r.randint(5, 80), 100)}
        if r.random() < 0.7
        else {"variance": Fraction(r.randint(30, 250), 100)}
    )
    least = least_delta_by_enumeration(float(epsilon), reach, keys, **{name: float(x) for name, x in asked.items()})
    if least is None:
        with refused(InvalidInput, token="no unbiased noise"):
            dc.design_ptable(epsilon, reach, keys=keys, **asked)
        return
    table = dc.design_ptable(epsilon, reach, keys=keys, **asked)
    check_claims(table, epsilon, least)
    assert table.about["proved_best"] is True


def _against_another_search(seed: int) -> None:
    r = random.Random(seed)
    reach, keys = r.randint(1, 3), r.choice([10, 16, 32, 64])
    epsilon, js = Fraction(r.randint(10, 250), 100), r.choice([0, 0, 1])
    asked = {"js": js if reach > 1 else 0, "stay": Fraction(r.randint(5, 70), 100)}
    if r.random() < 0.4:
        asked["variance"] = Fraction(r.randint(30, 100 * reach), 100)
    plain = {name: float(x) if name != "js" else x for name, x in asked.items()}
    least = NoiseModel(float(epsilon), reach, at_least=True, **plain).least_delta_on_keys(keys)
    if least is None:
        with refused(InvalidInput, token="no unbiased noise"):
            dc.design_ptable(epsilon, reach, keys=keys, **asked)
        return
    check_claims(dc.design_ptable(epsilon, reach, keys=keys, **asked), epsilon, least)


@every_case("seed", range(8))
def test_claims_hold_against_another_search(seed):
    _against_another_search(seed)


@pytest.mark.full
@pytest.mark.parametrize("part", range(10))
def test_claims_hold_against_another_search_over_many_settings(part):
    for seed in range(100 + 20 * part, 120 + 20 * part):
        _against_another_search(seed)


def test_a_proof_for_a_shorter_reach_is_none_for_the_whole(monkeypatch):
    """The best table came from a shorter reach, and the search over the whole one ended early."""
    from discreet.optimise.noise import key_rounding

    searched = []

    def search(wanted, keys, known):
        searched.append(wanted.reach)
        return real(wanted, keys, known)[0], wanted.reach == 1

    real = key_rounding.best_table
    monkeypatch.setattr(key_rounding, "best_table", search)
    monkeypatch.setattr(key_rounding, "_reaches", lambda *_: [1, 2])
    assert not dc.design_ptable(1, 2, stay="1/2", keys=16).about["proved_best"]
    assert searched == [1, 2]


def test_the_solver_comes_back_from_the_program_of_one_count():
    """Its presolve did not, here, with 50 nodes and 40 seconds allowed."""
    table = dc.design_ptable("7/20", 2, keys=64, stay="8/25", variance="31/100")
    assert table.about["proved_best"] is True
