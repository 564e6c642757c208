"""[S]'s numbered statements: the pieces that judge them, against brute force and against wrong statements."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.mechanisms.bounded import PaperFormulas, law_of, moment, symmetric_law
from discreet_studies.bounded import many, statements
from discreet_studies.bounded.statements import (
    has_p1_to_p3,
    least_single_delta,
    random_unbiased_law,
    set_excess,
    single_report_excess,
    step_of_36,
)
from discreet_studies.claims import Verdict
from discreet_studies.study import Setting
from support.golden import golden_rows

HALF = Fraction(1, 2)


def test_p1_to_p3_are_all_looked_at() -> None:
    good = law_of({-1: Fraction(1, 4), 0: HALF, 1: Fraction(1, 4)})
    assert has_p1_to_p3(good, HALF, count=1, reach=2)
    assert not has_p1_to_p3(good, Fraction(1, 3), count=1, reach=2)
    assert not has_p1_to_p3(law_of({0: HALF, 1: HALF}), HALF, count=1, reach=2)
    assert not has_p1_to_p3(law_of({-2: Fraction(1, 4), 0: HALF, 2: Fraction(1, 4)}), HALF, count=1, reach=2)


@pytest.mark.parametrize("seed", range(20))
def test_random_laws_are_unbiased_and_reach_their_ends(seed: int) -> None:
    law = random_unbiased_law(np.random.default_rng(seed), HALF, 3, 4)
    assert (law.low, law.high, law.probability(0), moment(law, 1)) == (-3, 4, HALF, 0)


def test_the_linear_program_of_proposition_2_has_the_reference_values() -> None:
    compared = 0
    for row in golden_rows("golden_002_smallcounts.csv"):
        if row["single_nge1_cert"] != "True" or int(row["D"]) > 4:
            continue
        least = least_single_delta(Fraction(row["eps"]), Fraction(row["eta"]), int(row["D"]), 2 * int(row["D"]))
        assert least == pytest.approx(float(row["single_nge1"]), rel=1e-8, abs=1e-9)
        compared += 1
    assert compared >= 3


def test_excesses_are_those_of_brute_force() -> None:
    """Every set of reports of two counts, and every single one."""
    E = Fraction(2)
    one, two = (law_of({-1: Fraction(a, 8), 0: HALF, 1: Fraction(4 - a, 8)}) for a in (1, 3))
    chances = {n: [law.probability(y - n) for y in range(-1, 4)] for n, law in enumerate((one, two))}
    both = [[chances[a][y] - E * chances[b][y] for y in range(5)] for a, b in ((0, 1), (1, 0))]
    sets = [[sum(x for x, inside in zip(row, chosen, strict=True) if inside) for row in both]
            for chosen in product((False, True), repeat=5)]  # fmt: skip
    assert single_report_excess([one, two], E) == max(map(max, both))
    assert set_excess([one, two], E) == max(map(max, sets))


def test_a_wrong_36_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = PaperFormulas(Fraction(1), HALF, 4)
    assert paper.crossovers[0] - paper.crossovers[1] == step_of_36(paper.factor, 1)
    monkeypatch.setattr(statements, "step_of_36", lambda E, k: step_of_36(E, k) * 2)
    found = {claim.key: claim.verdict for claim in statements.draw(Setting(quick=True)).claims}
    assert found["lemma 4"] is Verdict.FAILS and found["lemma 1"] is Verdict.HOLDS


def test_lower_bounds_that_are_too_large_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The excess of a law made a third of what it is, so that the bounds are three times too large."""
    monkeypatch.setattr(statements, "single_report_excess", lambda laws, E: single_report_excess(laws, E) / 3)
    found = {claim.key: claim.verdict for claim in statements.draw(Setting(quick=True)).claims}
    assert [found[key] for key in ("lemma 1", "lemma 2", "theorem 1")] == [Verdict.FAILS] * 3


def test_proposition_4_leaves_out_what_the_counterexample_to_theorem_3_uses() -> None:
    paper = PaperFormulas(HALF, Fraction(1, 10), 4)
    law = symmetric_law(paper.stay, list(paper.side))
    assert single_report_excess([law, law], paper.factor) > paper.printed_delta_star * (1 + Fraction(1, 10**6))


def test_many_queries_give_away_more_than_one_and_less_than_the_sum() -> None:
    rows = many.draw(Setting(quick=True)).tables[""]
    for row in rows:
        added, composed = float(str(row["epsilon_added"])), float(str(row["epsilon_composed"]))
        assert composed <= added * (1 + 1e-9)
    last = rows[-1]
    assert last["queries"] == 32 and float(str(last["epsilon_composed"])) < 0.85 * float(str(last["epsilon_added"]))
    assert math.isclose(float(str(rows[0]["delta"])), 0.000403457, rel_tol=1e-5)
