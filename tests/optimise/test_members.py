"""A request that a known mechanism meets is never refused, and a solver that gets nowhere is stopped."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import Conflict
from discreet.optimise.design import design
from discreet.optimise.design.design import read_request
from discreet.optimise.design.members import KNOWN_MECHANISM, cheapest_member, is_met_by_a_member, members
from discreet.optimise.lp import highs
from discreet.optimise.lp.bounds import impossible
from discreet.optimise.lp.highs import StallWatch
from discreet.optimise.lp.program import program_of
from discreet.optimise.lp.solver import InfeasibleDesign, SolverFailed, SolverSession
from support.grids import every_case

SEVEN = ("S", "RH", "RM", "CH", "CM", "F", "WH")


def _request(n: int, **options: Any) -> Any:
    whole: dict[str, Any] = {"epsilon": None, "delta": 0, "loss": "L1", "prior": None, "worst_case": False}
    return read_request(n, **{**whole, **options})


def _has(m: dc.Mechanism, alpha: str, asked: str) -> None:
    """What was designed is private and has what was asked for, by the judge and the checks themselves."""
    assert dc.verify(m, "central").ratio <= 1 / Fraction(alpha)
    assert all(dc.check(m, asked).values())


def test_what_the_uniform_mechanism_meets_is_not_refused() -> None:
    asked = "S+RH+F+steps>=1/2"
    assert all(dc.check(dc.uniform(60), asked).values())
    m = dc.design(60, alpha="1/20", loss="L0_1", properties=asked)
    _has(m, "1/20", asked)
    assert m.certificate.details["gap"] <= 1e-8
    assert m.certificate.details["cost_about"] < 0.33  # the uniform mechanism costs .95


def test_slow_falls_are_scaled_so_and_solved_exactly() -> None:
    """steps>=1/2 at alpha = 1/5: scaled by alpha^|i-j| it grows by 5/2 a step, and was lost for minutes."""
    m = dc.design(40, alpha="1/5", loss="L0_1", properties="S+RH+F+steps>=1/2")
    assert m.certificate.details["certified"] == "rational vertex"
    assert m.certificate.details["cost_about"] == pytest.approx(0.3202706817644398, abs=1e-12)
    program = program_of(_request(40, alpha="1/5", properties="steps>=1/2")[0])
    assert program.exponent[20] == 8  # floor(20 log(1/2) / log(1/5)), not 20
    assert program.reach == 40  # a tail that falls by alpha per step would break the requirement


def test_a_clash_is_proved_in_few_steps() -> None:
    """It took 268 seconds: the solver refactorised some thousands of times among vertices that are all alike."""
    with pytest.raises(Conflict) as told:
        dc.design(60, alpha="1/2", loss="L1", properties="RH+CM+F+bias<=1/2")
    assert told.value.proved and told.value.requirements == ("privacy", "F", "bias<=1/2")


def test_a_clash_on_which_the_solver_is_lost_is_proved_by_its_shortage() -> None:
    with pytest.raises(Conflict) as told:
        dc.design(40, alpha="1/2", loss="L1", properties="CM+bias<=1/2")
    assert told.value.proved
    clash, _ = _request(40, alpha="1/2", properties="CM+bias<=1/2")
    session = SolverSession(program_of(clash, negligible=0.0, scaled=False))
    assert impossible(session.program, session.shortage(), session.row_sizes)
    met, _ = _request(40, alpha="1/2", properties="CM+bias<=20")  # the uniform mechanism is biased by n/2
    session = SolverSession(program_of(met, negligible=0.0, scaled=False))
    assert not impossible(session.program, session.shortage(), session.row_sizes)


class _Event:
    """What the solver hands to whoever watches it."""

    def __init__(self, pivots: int) -> None:
        self.data_out = self
        self.simplex_iteration_count = pivots
        self.stop: bool | None = None

    def interrupt(self, value: bool) -> None:
        self.stop = value


def test_a_run_without_pivots_is_stopped_and_the_next_one_is_not() -> None:
    watch, healthy = StallWatch(), []
    for pivots in range(5_000):  # one refactorisation for a hundred pivots is as it should be
        for event in [_Event(pivots)] * (2 if pivots % 100 == 0 else 1):
            watch(event)
            healthy.append(event.stop)
    assert not any(healthy) and not watch.stalled
    watch.reset()
    stuck = [_Event(10) for _ in range(1_000)]
    for event in stuck:
        watch(event)
    assert watch.stalled and stuck[-1].stop is True and stuck[0].stop is False
    watch.reset()
    after = _Event(0)
    watch(after)
    assert after.stop is False  # the solver remembers an interruption until it is told otherwise


def test_a_stalled_run_says_so_and_takes_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "HEALTHY_REFACTORISATIONS", -1)  # so that any run is given up at its first step
    request, _ = _request(12, alpha="1/2", properties="CM")
    session = SolverSession(program_of(request))
    with pytest.raises(SolverFailed):
        session.minimise(np.ones(session.program.count))
    assert session.stalled


def test_where_the_solver_fails_the_cheapest_known_mechanism_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise InfeasibleDesign

    monkeypatch.setattr(design, "search", fails)
    m = dc.design(10, alpha="1/3", loss="L1", properties="S+CM+steps>=1/2")
    details = m.certificate.details
    assert details["certified"] == KNOWN_MECHANISM and details["form"] == "EM at alpha = 1/2"
    _has(m, "1/3", "S+CM+steps>=1/2")
    assert details["least"] <= details["cost_about"] and details["gap"] >= details["cost_about"] - details["least"]
    monkeypatch.undo()
    best = dc.design(10, alpha="1/3", loss="L1", properties="S+CM+steps>=1/2").certificate.details
    assert details["least"] <= best["cost_about"] <= details["cost_about"]  # the gap it states is true


def test_the_known_mechanisms_are_as_private_as_asked_for() -> None:
    for n, alpha in ((1, "1/2"), (2, "9/10"), (7, "1/20"), (8, "10/11")):
        request, stated = _request(n, alpha=alpha, properties=())
        for name, table in members(request):
            assert dc.verify(table, "central").ratio <= 1 / Fraction(alpha), name
        assert cheapest_member(request, stated) is not None


def _asked_of(table: Any, rng: np.random.Generator) -> list[str]:
    """Random requirements that this table meets, some of them with nothing to spare."""
    codes = [code for code, held in dc.check(table).items() if held.holds and rng.random() < 0.5]
    matrix = table.matrix()
    size = len(matrix)
    above = np.arange(size)[None, :] - np.arange(size)[:, None]
    room = Fraction(int(rng.integers(0, 3)), 100)

    def at_most(value: float) -> Fraction:
        return Fraction(int(np.ceil(value * 10**6)), 10**6) + room

    if rng.random() < 0.4:
        codes.append(f"bias<={at_most(abs((matrix * above).sum(axis=1)).max())}")
    if rng.random() < 0.4:
        codes.append(f"mse<={at_most((matrix * above**2).sum(axis=1).max())}")
    if rng.random() < 0.4:
        least = Fraction(int(np.floor(np.diagonal(matrix).min() * 10**6)), 10**6) - room
        codes.append(f"truth>={max(least, Fraction(0))}")
    if rng.random() < 0.4 and (matrix > 0).all():
        ratios = np.minimum(matrix[:, 1:] / matrix[:, :-1], matrix[:, :-1] / matrix[:, 1:])
        ratio = Fraction(int(np.floor(ratios.min() * 10**6)), 10**6)
        if ratio > 0:
            codes.append(f"steps>={ratio}")
    return codes


@every_case("seed", range(60))
def test_no_request_is_refused_that_a_known_mechanism_meets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 16))
    alpha = f"{rng.integers(1, 100)}/100"
    family = [dc.uniform(n), dc.explicit_fair(n, alpha=alpha), dc.geometric(n, alpha=alpha)][int(rng.integers(3))]
    table = family.kernel.table()
    asked = _asked_of(table, rng)
    assert not asked or all(dc.check(table, dc.requirements.resolve(asked)).values())
    loss = ["L0", "L1", "L2", "L0_1"][int(rng.integers(4))]
    request, _ = _request(n, alpha=alpha, loss=loss, properties=asked)
    assert is_met_by_a_member(request)
    m = dc.design(n, alpha=alpha, loss=loss, properties=asked)
    assert dc.verify(m, "central").ratio <= 1 / Fraction(alpha)
    assert not asked or all(dc.check(m, asked).values())
    assert m.certificate.details["cost_about"] <= float(dc.cost(table, loss)) + 1e-9  # at least as good as the known
