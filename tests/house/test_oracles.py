"""Oracles prove their own answers, and tests use no solver that does not."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from scipy import optimize

from support import oracles
from support.oracles import NotSolved, convex_minimum, linear_minimum, plane_integral
from support.paths import TESTS

#: Of scipy, what iterates and may stop early. Root finders in a bracket (brentq) raise where they do not converge.
ITERATIVE = {
    "optimize": {
        "minimize", "minimize_scalar", "linprog", "milp", "fsolve", "root", "root_scalar", "least_squares",
        "lsq_linear", "curve_fit", "nnls", "differential_evolution", "basinhopping", "fmin", "fmin_slsqp",
        "fmin_l_bfgs_b", "fixed_point",
    },
    "integrate": {"quad", "dblquad", "nquad", "solve_ivp", "odeint"},
}  # fmt: skip


def iterative_calls(source: str) -> list[int]:
    """Return the lines that import or name a solver which may stop early."""
    every = set().union(*ITERATIVE.values())
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scipy"):
            named = every & {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            named = {node.attr} & ITERATIVE.get(node.value.id, set())
        else:
            continue
        if named:
            lines.append(node.lineno)
    return lines


def test_every_iterative_oracle_is_one_that_proves_itself() -> None:
    """A new one goes to oracles.py, where feasibility and success are asserted."""
    sources = {file: file.read_text(encoding="utf-8") for file in TESTS.rglob("*.py")}
    suspects = {
        file.relative_to(TESTS).as_posix(): iterative_calls(text)
        for file, text in sources.items()
        # to parse every test takes a second; both ways to call scipy name it
        if "scipy" in text and file.name not in ("oracles.py", "test_oracles.py")
    }
    assert {name: lines for name, lines in suspects.items() if lines} == {} and len(suspects) > 5
    planted = "from scipy import optimize, stats\nfrom scipy.integrate import quad\noptimize.minimize(f)\nstats.norm()"
    assert iterative_calls(planted) == [2, 3]


def _nearest(goal: np.ndarray) -> float:
    """The least x[0] of distributions within a tenth of another one."""
    size = len(goal)

    def within(x: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.01 - float(((x - goal) ** 2).sum()), -2 * (x - goal)

    return convex_minimum(np.eye(size)[0], goal, (np.ones((1, size)), np.ones(1)), within, 1e-5)


def test_the_least_share_within_a_ball_is_found() -> None:
    """Away from the first corner: 0.1 in the direction (2, -1, -1), whose length is the root of 6."""
    assert _nearest(np.array([0.4, 0.3, 0.3])) == pytest.approx(0.4 - 0.2 / 6**0.5, abs=1e-5)


def test_an_oracle_whose_bounds_do_not_meet_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happened under other OpenBLAS kernels: a feasible point that the solver called the minimum."""
    real = oracles._solved_linear
    monkeypatch.setattr(oracles, "_solved_linear", lambda *a, **k: (real(*a, **k)[0] - 0.01, real(*a, **k)[1]))
    with pytest.raises(NotSolved, match="only known to be between"):
        _nearest(np.array([0.4, 0.3, 0.3]))


def test_an_answer_that_breaks_its_constraints_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    real = optimize.linprog

    def shifted(*arguments, **others):
        found = real(*arguments, **others)
        found.x = found.x + 0.01
        return found

    assert linear_minimum([1.0, 2.0], A_eq=[[1.0, 1.0]], b_eq=[1.0]) == pytest.approx(1.0)
    with pytest.raises(NotSolved):
        linear_minimum([1.0, 2.0], A_ub=[[1.0, 1.0], [-1.0, -1.0]], b_ub=[1.0, -2.0])
    monkeypatch.setattr(optimize, "linprog", shifted)
    with pytest.raises(NotSolved, match="constraint"):
        linear_minimum([1.0, 2.0], A_eq=[[1.0, 1.0]], b_eq=[1.0])


def test_an_integral_is_known_as_well_as_it_says() -> None:
    assert plane_integral(lambda y, x: x * y, (0, 1), (0, 2), 1e-10) == pytest.approx(1.0, rel=1e-9)
    with pytest.raises(NotSolved):
        plane_integral(lambda y, x: 0.0, (0, 1), (0, 1), 1e-10)
