"""Plans of surveys: how many people for an epsilon, which epsilon for so many people, which family needs least."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.collect.planning.guesses import read_guess
from discreet.collect.planning.options import options_for
from discreet.collect.planning.search import find
from discreet.collect.planning.target import read_target
from discreet.errors import ForeignValue, InvalidInput, Unsupported, WrongType
from discreet.estimation.intervals.precision import Precision
from support.command_line import run
from support.refusals import Parts, refused
from support.tiers import full

ANSWERS = dc.Labels(["never", "rarely", "often"])
SKEWED = np.array([0.6, 0.3, 0.1])


# ------------------------------------------------------------------------------------------------ the formula


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.geometric(6, alpha="1/2"),
        dc.randomized_response(7, epsilon=1),
        dc.explicit_fair(6, epsilon=1),
        dc.from_matrix(np.random.default_rng(1).dirichlet(np.full(9, 0.4), 7)),
    ],
    ids=["geometric", "response", "fair", "more reports than truths"],
)
def test_the_variance_is_that_of_the_fisher_information(mechanism: dc.Mechanism) -> None:
    p = np.array([0.1, 0.2, 0.3, 0.1, 0.1, 0.15, 0.05])
    A = np.asarray(mechanism.matrix)
    inverse = np.linalg.inv(A @ np.diag(1 / (p @ A)) @ A.T)
    precision = Precision(mechanism, p)
    for f in (np.arange(7.0), np.eye(7)[2], np.linspace(0, 1, 7) ** 2):
        assert precision.variance(f) == pytest.approx(f @ inverse @ f - (f @ p) ** 2, rel=1e-6)
        assert precision.variance(f) > precision.sampling_variance(f) > 0


def test_the_variance_of_a_share_under_projective_response_is_its_formula() -> None:
    m = dc.projective_response(40, epsilon=1)
    rare = np.zeros(40)
    rare[0] = 1.0
    assert Precision(m, rare).variance(np.eye(40)[7]) == pytest.approx(float(dc.share_variance(m)))


def test_what_reports_do_not_determine_has_no_variance() -> None:
    blind = dc.from_matrix([[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]])
    assert Precision(blind, np.full(3, 1 / 3)).variance(np.eye(3)[0]) == math.inf


# ------------------------------------------------------------------------------------------------ plans


def simulated_margin(plan: dc.CollectionPlan, statistic: object, p: np.ndarray, surveys: int = 20) -> float:
    """Half the length of the intervals in surveys of people who report one by one."""
    space, rng, found = plan.mechanism.inputs, np.random.default_rng(99), []
    for _ in range(surveys):
        truths = space.values(rng.choice(space.size, plan.people, p=p))
        reports = plan.mechanism.simulate(truths, seed=int(rng.integers(2**62)))
        interval = dc.estimate(reports=reports, mechanism=plan.mechanism).interval(statistic)
        found.append((interval.high - interval.low) / 2)
    return float(np.mean(found))


def test_surveys_of_the_planned_size_have_the_wanted_error() -> None:
    plan = dc.plan_collection(ANSWERS, "±3 points", epsilon=1, guess=SKEWED)
    assert simulated_margin(plan, ("cell", "never"), SKEWED) == pytest.approx(0.03, rel=0.1)
    assert plan.check.error == pytest.approx(0.03, rel=0.04)
    half = dc.plan_collection(ANSWERS, "±1.5 points", epsilon=1, guess=SKEWED)
    assert half.people == pytest.approx(4 * plan.people, rel=0.05)


def test_the_smallest_epsilon_for_so_many_people_has_the_wanted_error() -> None:
    plan = dc.plan_collection(dc.Counts(20), "mean ±0.4", people=2500, mechanism="geometric")
    assert plan.solved_for == "epsilon" and plan.people == 2500
    assert simulated_margin(plan, "mean", np.full(21, 1 / 21)) == pytest.approx(0.4, rel=0.1)
    back = dc.plan_collection(dc.Counts(20), "mean ±0.4", epsilon=plan.epsilon, mechanism="geometric")
    assert back.people == pytest.approx(2500, rel=0.1)


@pytest.mark.parametrize(
    ("n", "epsilon", "points", "surveys"), [(12, 0.05, 20, 8), pytest.param(30, 0.02, 25, 20, marks=full)]
)
def test_the_number_is_corrected_where_the_formula_is_off(n: int, epsilon: float, points: int, surveys: int) -> None:
    """Very wide noise: that no share is negative makes intervals far shorter than the formula's."""
    wanted, near_0 = f"share of 0..3 ±{points} points", 0.7 ** np.arange(n + 1)
    plan = dc.plan_collection(
        dc.Counts(n), wanted, epsilon=epsilon, mechanism="geometric", guess=near_0, surveys=surveys
    )
    assert plan.formula is not None and plan.formula > 1.5 * plan.target.error
    assert plan.check.people == plan.people and plan.check.error == pytest.approx(points / 100, rel=0.03)


def test_many_values_are_asked_for_with_projective_response() -> None:
    plan = dc.plan_collection(dc.Labels([f"v{k}" for k in range(120)]), "share of v0 ±8 points", epsilon=1, surveys=4)
    assert plan.recommended == plan.family == "projective_response"
    needs = {one.family: one.people or math.inf for one in plan.families}
    assert needs["randomized_response"] > 10 * needs["projective_response"]


def test_few_values_are_asked_for_with_randomised_response() -> None:
    assert dc.plan_collection(["yes", "no"], "±5 points", epsilon=2, surveys=10).recommended == "randomized_response"


def test_a_named_mechanism_is_planned_and_a_better_one_is_named_beside_it() -> None:
    plan = dc.plan_collection(dc.Counts(30), "share of 0 ±8 points", epsilon=1, mechanism="k-RR", surveys=4)
    assert plan.family == "randomized_response" and plan.recommended == "projective_response"
    assert any("Projective response needs less" in note for note in plan.notes)


def test_families_are_compared_at_the_same_privacy() -> None:
    """Between any two counts, geometric noise at epsilon gives n epsilon; asked for locally it gets epsilon / n."""
    for notion, own in (("central", "1"), ("local", "1/20")):
        options, read = options_for(dc.Counts(20), None, notion)
        geometric = next(one for one in options if one.family.name == "geometric")
        made = geometric.build(1)
        assert read == notion and made.certificate.epsilon == pytest.approx(
            float(dc.geometric(20, epsilon=own).certificate.epsilon)
        )
        assert made.local_epsilon <= float(geometric.between_any_two(1)) * (1 + 1e-9)
    options, _ = options_for(dc.Grid(4, 4, cell=100.0), None, "local")
    for one in options:
        assert one.build(2).local_epsilon <= 2 * (1 + 1e-6)


def test_a_plan_is_the_same_again_from_the_same_seed() -> None:
    first, second = (dc.plan_collection(["yes", "no"], "±5 points", epsilon=1, surveys=5) for _ in range(2))
    assert first.to_json() == second.to_json()


def test_a_map_is_planned_by_its_distance() -> None:
    pytest.importorskip("ot")
    plan = dc.plan_collection(
        dc.Grid(6, 6, cell=100.0), "map 60 m", epsilon=0.02, mechanism="planar-geometric", surveys=20
    )
    again = dc.reconstruction_loss(
        plan.mechanism,
        read_guess(None, plan.mechanism.inputs).distribution,
        people=plan.people,
        repeats=40,
        seed=5,
        method="auto",
    )
    assert again.mean == pytest.approx(60, rel=0.1)
    assert {one.family for one in plan.families} == {"planar_geometric", "planar_laplace"}


def test_the_picture_has_the_line_of_the_formula_and_the_simulated_surveys() -> None:
    plan = dc.plan_collection(["yes", "no"], "±5 points", epsilon=1, surveys=5)
    layers = plan.plot().spec["layer"]
    assert layers[0]["data"]["values"] == [{"error": 5.0}] and len(layers) == 3
    for layer in layers[1:]:
        errors = [row["error"] for row in layer["data"]["values"]]
        assert len(errors) == 5 and errors == sorted(errors, reverse=True)


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("space", "target_error", "options", "error", "words"),
    [
        (ANSWERS, "±2 points", {}, InvalidInput, Parts(argument="epsilon", token="exactly")),
        (ANSWERS, "±2 points", {"epsilon": 1, "people": 100}, InvalidInput, Parts(argument="epsilon", token="exactly")),
        (ANSWERS, "2 pints", {"epsilon": 1}, InvalidInput, Parts(argument="target_error", given="2 pints")),
        (ANSWERS, "±60 points", {"epsilon": 1}, InvalidInput, Parts(argument="target_error", token="Ask for less")),
        (ANSWERS, "±0 points", {"epsilon": 1}, InvalidInput, Parts(argument="target_error", given="±0 points")),
        (ANSWERS, "mean ±1", {"epsilon": 1}, Unsupported, Parts(token="for counts")),
        (ANSWERS, "map 200 m", {"epsilon": 1}, Unsupported, Parts(token="grid")),
        (ANSWERS, "share of always ±2 points", {"epsilon": 1}, ForeignValue, Parts(token="3 labels")),
        (
            ANSWERS,
            "±2 points",
            {"epsilon": 1, "mechanism": "geometric"},
            InvalidInput,
            Parts(argument="mechanism", token="not for labels"),
        ),
        (
            ANSWERS,
            "±2 points",
            {"epsilon": 1, "mechanism": "geometrik"},
            InvalidInput,
            Parts(argument="mechanism", given="geometrik"),
        ),
        (
            ANSWERS,
            "±2 points",
            {"epsilon": 1, "guess": [1, 2]},
            InvalidInput,
            Parts(argument="guess", token="3 numbers"),
        ),
        (
            ANSWERS,
            "±2 points",
            {"epsilon": 1, "guess": [0, 0, 0]},
            InvalidInput,
            Parts(argument="guess", token="3 numbers"),
        ),
        (ANSWERS, "±2 points", {"epsilon": 1, "guess": {"no": 1}}, ForeignValue, Parts(token="3 labels")),
        (ANSWERS, "±2 points", {"people": 5}, InvalidInput, Parts(argument="people", given=5)),
        (ANSWERS, "±2 points", {"people": 1000}, InvalidInput, Parts(argument="people", token="too few")),
        (
            ANSWERS,
            "±0.0001 points",
            {"epsilon": 0.01},
            InvalidInput,
            Parts(argument="target_error", token="out of reach"),
        ),
        (3.5, "±2 points", {"epsilon": 1}, WrongType, Parts(argument="space", given=3.5)),
    ],
)
def test_what_cannot_be_planned_is_refused_with_reasons(space, target_error, options, error, words) -> None:
    with refused(error, **words):
        dc.plan_collection(space, target_error, **options)


def test_too_few_people_are_told_how_many_it_takes_without_noise() -> None:
    with refused(InvalidInput, "people"):
        dc.plan_collection(["yes", "no"], "±2 points", people=1000)


# ------------------------------------------------------------------------------------------------ reading


@pytest.mark.parametrize("text", ["±2 points", "+-2 points", "+/- 2 pp", "±2%", "each share ±2 percentage points"])
def test_shares_may_be_written_in_several_ways(text: str) -> None:
    wanted = read_target(text, ANSWERS)
    assert (wanted.kind, wanted.error, wanted.statistic) == ("share", 0.02, None)


def test_labels_keep_their_case_and_numbers_may_be_labels() -> None:
    assert read_target("share of Often ±1 point", dc.Labels(["Often", "never"])).statistic == ("cell", "Often")
    assert read_target("share of 3 ±1 point", dc.Labels(["3", "4"])).statistic == ("cell", "3")
    assert read_target("map 1.5 km", dc.Grid(3, 3, cell=500.0)).error == 1500


def test_a_guess_is_read_from_numbers_mappings_estimates_and_files(tmp_path: Path) -> None:
    e = dc.estimate([60, 25, 15], dc.randomized_response(ANSWERS, epsilon=8))
    e.save(tmp_path / "estimate.json")
    (tmp_path / "shares.csv").write_text("answer,people\noften,10\nnever,60\nrarely,30\n", encoding="utf-8")
    (tmp_path / "numbers.csv").write_text("6\n3\n1\n", encoding="utf-8")
    (tmp_path / "mapping.json").write_text(json.dumps({"never": 6, "rarely": 3, "often": 1}), encoding="utf-8")
    exact = [[6, 3, 1], {"never": 0.6, "rarely": 0.3, "often": 0.1}]
    for guess in (*exact, *(tmp_path / name for name in ("shares.csv", "numbers.csv", "mapping.json"))):
        assert read_guess(guess, ANSWERS).distribution == pytest.approx(SKEWED)
    for guess in (e, tmp_path / "estimate.json", str(tmp_path / "estimate.json")):
        assert read_guess(guess, ANSWERS).distribution == pytest.approx(e.distribution)
    with refused(InvalidInput, "guess"):
        read_guess(e, dc.Counts(2))
    assert read_guess(None, dc.Grid(9, 9)).distribution.sum() == pytest.approx(1)


def test_the_search_finds_where_an_error_is_met_and_says_where_it_never_is() -> None:
    for power in (-0.3, -0.5, -1.4):
        found = find(lambda x, power=power: 7 * x**power, 50, 0.2, (1, 1e9), -0.5)
        assert found is not None and 7 * found**power == pytest.approx(0.2, rel=0.03)
    assert find(lambda x: 1 + 1 / x, 10, 0.5, (1, 1e6), -0.5) is None
    assert find(lambda x: 0.1 / x, 10, 0.5, (1, 1e6), -0.5) == 1


# ------------------------------------------------------------------------------------------------ the command line


def test_the_verb_says_what_python_says(tmp_path: Path) -> None:
    words = ["collect", "plan", "--labels", "yes,no", "--target-error", "±5 points", "--epsilon", "1", "--surveys", "5"]
    plan = dc.plan_collection(["yes", "no"], "±5 points", epsilon=1, surveys=5)
    assert json.loads(run(*words, "--json").stdout) == json.loads(json.dumps(plan.to_json()))
    said = run(*words, "--page", str(tmp_path / "plan.html")).stdout
    assert (
        said.startswith(plan.describe())
        and "Error against the number of people" in (tmp_path / "plan.html").read_text()
    )


def test_the_verb_refuses_in_the_words_of_its_options() -> None:
    done = run("collect", "plan", "-n", "10", "--target-error", "mean ±1", code=2)
    assert "--epsilon and --people" in done.stderr


# ------------------------------------------------------------------------------------------------ former names


def test_the_former_name_of_the_target_error_works_with_a_warning() -> None:
    plan = dc.plan_collection(["yes", "no"], target_error="±5 points", epsilon=1, surveys=3)
    with pytest.warns(DeprecationWarning, match="wanted is now target_error") as caught:
        former = dc.plan_collection(["yes", "no"], wanted="±5 points", epsilon=1, surveys=3)
    assert former.to_json() == plan.to_json() and caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="wanted is now target"):
        assert former.wanted is former.target
    with refused(InvalidInput, "target_error", given=None):
        dc.plan_collection(["yes", "no"], epsilon=1)


def test_the_former_option_of_the_target_error_works_hidden_and_with_a_warning() -> None:
    words = ["collect", "plan", "--labels", "yes,no", "--epsilon", "1", "--surveys", "3", "--json"]
    new, former = (run(*words, option, "±5 points") for option in ("--target-error", "--wanted"))
    assert former.stdout == new.stdout and "--target-error" in former.stderr and "--target-error" not in new.stderr
    assert "--wanted" not in run("collect", "plan", "--help").stdout
    assert "--wanted" not in run("collect", "create", "--help").stdout
