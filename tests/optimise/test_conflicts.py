"""That a request cannot be met is proved, not taken from the solver."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import Conflict
from discreet.optimise.lp.bounds import impossible
from discreet.optimise.lp.program import Program, Request, program_of
from discreet.optimise.lp.solver import InfeasibleDesign, SolverSession
from discreet.properties import PROPERTIES
from support.grids import every_case
from support.refusals import refused

CLASHES = [
    (4, {"alpha": "1/2"}, ["S", "support<=1"]),
    (8, {"alpha": "9/10"}, ["mse<=2", "WH", "CM", "S"]),
    (6, {"alpha": "1/2"}, ["truth>=1/2", "truth=1/4", "RM"]),
    (8, {"alpha": "1/2"}, ["bias<=0", "WH"]),
    (8, {"epsilon": 1, "delta": "1/50"}, ["support<=1"]),
    (10, {"epsilon": "0.001"}, ["CM", "bias<=1"]),
    (50, {"epsilon": "0.1"}, ["WH", "bias<=1/1000"]),
    (100, {"epsilon": "0.5"}, ["F", "support<=90"]),
    (30, {"epsilon": "3"}, ["truth>=99/100"]),
]


@every_case(("n", "privacy", "asked"), CLASHES)
def test_clashes_are_proved(n: int, privacy: dict[str, object], asked: list[str]) -> None:
    with refused(Conflict, "properties") as told:
        dc.design(n, loss="L1", properties=asked, **privacy)
    assert told.value.proved


def test_the_edge_of_what_can_be_is_proved_from_both_sides() -> None:
    """No mechanism tells every truth more often than the explicit fair one ([C])."""
    most = dc.explicit_fair(6, alpha="1/2").probability(3, 3)
    m = dc.design(6, alpha="1/2", loss="L1", properties=["F", f"truth>={most - Fraction(1, 10**6)}"])
    assert m.probability(3, 3) >= most - Fraction(1, 10**6)
    above = f"truth>={most + Fraction(1, 10**6)}"
    with pytest.raises(Conflict) as told:
        dc.design(6, alpha="1/2", loss="L1", properties=[above])
    assert told.value.proved and told.value.requirements == ("privacy", above)


@pytest.mark.parametrize(
    ("asked", "name"),
    [(["bias<=1/2"], "bias"), (["mse<=2", "WH", "CM"], "mse"), (["CM", "bias<=0", "support<=5"], None)],
)
def test_the_message_names_the_least_limit_that_can_be_had(asked: list[str], name: str | None) -> None:
    privacy: dict[str, object] = {"epsilon": "0.5"}
    with pytest.raises(Conflict) as refusal:
        dc.design(6, loss="L1", properties=asked, **privacy)
    advice = re.search(r"The least possible is (\w+)<=([0-9.]+):", str(refusal.value))
    assert (advice and advice[1]) == name
    if advice is None:  # loosening it would not help: no probability is zero at this privacy
        return
    others = [item for item in asked if not item.startswith(advice[1])]
    assert dc.design(6, loss="L1", properties=[*others, f"{name}<={advice[2]}"], **privacy)
    with pytest.raises(Conflict):
        dc.design(6, loss="L1", properties=[*others, f"{name}<={Fraction(advice[2]) * 99 / 100}"], **privacy)


def _program(asked: list[str], *, private: bool = True) -> Program:
    requirements = tuple(PROPERTIES[code] for code in asked)
    return program_of(Request(5, Fraction(1, 2), dc.losses.L1, None, requirements), negligible=0.0, private=private)


@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([[], ["WH"], ["S", "CM"], ["F", "RM", "CH"]]))
def test_no_prices_prove_that_what_exists_does_not(seed: int, private: bool, asked: list[str]) -> None:
    """A negative control: the explicit fair mechanism has all of these, so no prices whatever may say otherwise."""
    program = _program(asked, private=private)
    session = SolverSession(program)
    rng = np.random.default_rng(seed)
    prices = rng.normal(size=session.rows) * np.exp(rng.uniform(-9, 9, session.rows))
    assert not impossible(program, prices, session.row_sizes)


def test_a_contradiction_without_what_it_speaks_of_proves_nothing() -> None:
    """The proof is in the prices: without those of the bias there is none, as geometric noise meets the rest."""
    request = Request(8, Fraction(1, 2), dc.losses.L1, None, (dc.requirements.bias(0),))
    session = SolverSession(program_of(request, negligible=0.0))
    with pytest.raises(InfeasibleDesign):
        session.minimise(np.zeros(session.program.count))
    prices = session.farkas_certificate()
    assert prices is not None and impossible(session.program, prices, session.row_sizes)
    about_bias = [row.label == "bias<=0" for row in session.program.rows]
    assert any(about_bias)
    changed = prices.copy()
    changed[-len(about_bias) :][about_bias] = 0.0
    for useless in (changed, -prices, 0 * prices, np.full_like(prices, np.nan)):
        assert not impossible(session.program, useless, session.row_sizes)


def test_a_conflict_with_equal_steps_names_what_clashes():
    with pytest.raises(Conflict) as caught:
        dc.design(6, alpha="1/1000", loss="L2", properties=["steps>=1", "CH", "support<=2", "WH", "F"])
    assert {"steps>=1", "support<=2"} == set(caught.value.requirements) - {"privacy"}


@pytest.mark.parametrize(
    "request_",
    [
        {"n": 2, "alpha": "999999/1000000", "delta": "1/1000000", "loss": "L0_1", "properties": ["mse<=1/2", "S"]},
        {"n": 5, "alpha": "199/200", "delta": "1/1000000", "loss": "L2", "properties": ["truth>=1/2", "bias<=1/2"]},
        {"n": 4, "alpha": "1/2", "delta": "1/1000000", "loss": "L1", "properties": ["bias<=1/2", "CH"]},
    ],
)
def test_what_the_solver_gives_up_on_is_tried_another_way(request_):
    """The solver ended with "Unknown" here, which is no answer to a person."""
    with pytest.raises(Conflict):
        dc.design(**request_)
