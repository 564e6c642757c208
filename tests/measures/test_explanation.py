"""A guarantee in plain words: the numbers in the sentences are the ones proved."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.exact.rationals import as_fraction, text_up
from discreet.explanation import explain, local_guarantee, local_use
from support.grids import every_case


def test_the_odds_ratio_is_the_exact_ratio_of_the_certificate() -> None:
    assert explain(dc.geometric(8, alpha="1/3")).odds_ratio == 3.0


@pytest.mark.parametrize(("prior", "posterior"), [("1/2", 3 / 4), ("1/10", 1 / 4), ("1/4", 1 / 2)])
def test_the_belief_afterwards_follows_from_bayes_rule(prior: str, posterior: float) -> None:
    """Odds p/(1-p) times 3."""
    words = explain(dc.geometric(8, alpha="1/3"), prior=prior)
    assert words.posterior == pytest.approx(posterior, abs=1e-15)
    assert Fraction(words.posterior) >= Fraction(posterior).limit_denominator(100)  # rounded up, never down
    assert f"at most {100 * posterior:.3g}% afterwards" in str(words)


def test_the_bound_on_the_belief_is_reached_by_the_witness() -> None:
    """Bayes' rule on the two truths and the report of the witness gives exactly the posterior that is stated."""
    m = dc.geometric(8, alpha="1/3")
    w = dc.verify(m).witness
    p = m.probability(w.truth, w.report) / (m.probability(w.truth, w.report) + m.probability(w.other, w.report))
    assert explain(m).posterior == pytest.approx(float(p), abs=1e-15)


def test_no_test_of_two_rows_beats_the_stated_power() -> None:
    """Neyman-Pearson over all pairs of adjacent rows of a small mechanism, at 5% false alarms."""
    m = dc.geometric(6, epsilon=1)
    stated = float(str(explain(m)).split("detects that person at most ")[1].split("% of the time")[0]) / 100
    best = 0.0
    for x in range(6):
        for null, other in ((x, x + 1), (x + 1, x)):
            order = sorted(range(7), key=lambda y: -m.matrix[other, y] / m.matrix[null, y])
            left, power = 0.05, 0.0
            for y in order:
                share = min(1.0, left / m.matrix[null, y])
                power += share * m.matrix[other, y]
                left -= share * m.matrix[null, y]
                if left <= 0:
                    break
            best = max(best, power)
    assert best <= stated + 5e-4  # the sentence shows three digits
    assert best == pytest.approx(stated, abs=5e-4)


def test_people_who_act_together_are_as_many_times_less_protected() -> None:
    words = explain(dc.geometric(20, alpha="1/2"), people=3)
    assert words.odds_ratio == 8.0
    assert "differ by 3" in words.sentences[0]


def test_metric_guarantees_are_explained_for_a_distance() -> None:
    m = dc.planar_geometric(dc.Grid(3, 3, cell=150.0), epsilon=0.004)
    assert explain(m).odds_ratio == pytest.approx(math.exp(0.6), rel=1e-6)
    assert explain(m, distance=300).odds_ratio == pytest.approx(math.exp(1.2), rel=1e-6)
    assert "centres of cells" in str(explain(m))


def test_a_count_mechanism_used_on_a_persons_own_value_says_its_real_epsilon() -> None:
    assert "epsilon is 100, not 1." in str(explain(dc.geometric(100, epsilon=1)))
    assert "epsilon is infinite" in str(explain(dc.two_sided_geometric(epsilon=1)))
    assert local_use(dc.randomized_response(3, epsilon=1)) is None


def test_delta_is_not_called_the_probability_of_large_odds() -> None:
    """That probability is larger; the sentence is about every set of reports, and its witness is one."""
    gauss = dc.discrete_gaussian(sigma2=4)
    verdict = dc.verify(gauss)
    assert verdict.delta_witness(1).probability > 5 * verdict.delta(1)  # of reports that all have odds above e
    words = str(explain(gauss))
    assert f"plus {text_up(verdict.delta(1), 3)} (delta)" in words and "occur with probability" not in words


def test_delta_is_not_dressed_up_as_a_bound_on_beliefs() -> None:
    certificate = dc.Certificate("central", 1.0, 1e-3, None, "by hand")
    words = explain(certificate)
    assert words.posterior == 1.0
    assert "plus 0.001" in str(words)
    assert "believed" not in str(words)


def test_no_guarantee_is_said_plainly() -> None:
    assert "No finite odds ratio" in str(explain(dc.discrete_gaussian(sigma2=4)))
    assert "next to nothing" in str(explain(dc.geometric(3, epsilon=100)))


@every_case("bad", [{"prior": 0}, {"prior": "1"}, {"prior": math.nan}, {"people": 0}, {"distance": 3}])
def test_impossible_questions_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        explain(dc.geometric(8, epsilon=1), **bad)  # type: ignore[arg-type]


@every_case("epsilon", ["0.01", "0.03", "0.07", "0.1", "0.3", "0.7", "1.1", "2.3"])
@every_case("people", [1, 2, 3, 10])
def test_an_epsilon_is_shown_as_it_was_typed(epsilon: str, people: int) -> None:
    """A double just above the number typed was rounded up once more: 0.01 became 0.01001 on the page."""
    stated = dc.Certificate("central", float(epsilon), 0.0, None, "composed", False)
    typed = Fraction(epsilon) * people
    words = dc.explain(stated, people=people)
    assert text_up(words.epsilon, 4) == f"{float(typed):.4g}"
    assert as_fraction(words.epsilon) == typed


def test_a_mechanism_shows_the_epsilon_that_was_typed() -> None:
    assert repr(dc.geometric(20, epsilon="0.01")) == "<geometric(n=20, alpha=0.99005): central epsilon 0.01>"
    assert "epsilon=0.004," in repr(dc.planar_geometric(dc.Grid(3, 3, "150"), epsilon="0.004"))
    assert "epsilon=1/3," in repr(dc.planar_geometric(dc.Grid(3, 3, "1"), epsilon="1/3"))
    assert "alpha=10/11" in repr(dc.geometric(20, alpha="10/11"))


def test_a_large_map_has_an_epsilon_between_any_two_places_and_it_holds() -> None:
    """Above 2,500 cells not every pair is looked at: the distance of opposite corners, times epsilon per metre."""
    small, large = (dc.planar_geometric(dc.Grid(side, side, cell=100.0), epsilon="0.004") for side in (8, 60))
    corners = local_guarantee(large)
    assert corners.epsilon == pytest.approx(0.004 * 5900 * math.sqrt(2), rel=1e-6)
    assert "at most 33.38" in corners.sentences[0]
    bound = small.certificate.epsilon * small.inputs.distance(0, 63)
    assert small.local_epsilon <= bound and local_guarantee(small).epsilon == small.local_epsilon


@pytest.mark.parametrize(
    ("mechanism", "bounds_beliefs"),
    [
        (dc.geometric(8, alpha="1/3"), True),
        (dc.bounded_noise(2, "1/2", 3), False),
        (dc.discrete_gaussian(sigma2=4), False),
    ],
)
def test_formulas_for_beliefs_need_an_epsilon_that_holds_for_every_report(mechanism, bounds_beliefs):
    (formulas,) = (section for section in explain(mechanism).report().sections if section.title == "The formulas")
    assert ("belief p" in formulas.parts[1].text) == bounds_beliefs
