"""What is done to the cells: the law that is drawn from, ranges, refusals, files."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import Altered, DiscreetError, InvalidInput, UnreadableFile, Unsupported, WrongType
from discreet.exact.bits import SecureBits, SeededBits
from discreet.exact.kernels import Noise
from discreet.exact.laws import Finite, Gaussian, GeometricTails
from discreet.exact.rationals import alpha_from_epsilon
from discreet.mechanism import finish
from discreet.optimise.families import FAMILIES
from discreet.release.noise.cells import CellNoise, cell_noise
from discreet.release.noise.targets import _four_digits, _index_below, epsilon_for, sigma2_for
from discreet.spaces import Counts, Integers
from support.grids import every_case
from support.refusals import Parts, refused


def own_laws() -> dc.Mechanism:
    kernel = Noise(Finite(-1, [1, 2, 1]), (0, None), (0, None), (Finite(0, [3, 1]),))
    return finish("own_laws", Integers(0), Integers(0), kernel, {})


def every_kind() -> dict[str, CellNoise]:
    sizes = np.array([0, 1, 5, 5, 30])
    return {
        "geometric": cell_noise("geometric", epsilon=1),
        "clamped": cell_noise("geometric", epsilon="0.1", output="clamped"),
        "sizes": cell_noise("geometric", epsilon=1, sizes=sizes),
        "gaussian": cell_noise("discrete-gaussian", sigma2=4, bound=10**9),
        "laplace": cell_noise("rounded-laplace", epsilon=1),
        "fair": cell_noise("explicit-fair", epsilon=1, sizes=sizes),
        "response": cell_noise("randomized-response", epsilon=1, bound=6),
        "matrix": cell_noise(dc.from_matrix([["3/4", "1/4"], ["1/4", "3/4"]])),
        "own laws": cell_noise(own_laws()),
    }


KINDS = every_kind()

#: Five cells with counts that no cell should have, and that must make no difference to whether a release succeeds.
STRANGE = [
    np.array([0, -5, 7, 2**62, -(2**63)]),
    np.array([0, 3, 2**63, 2**64 - 1, 9], np.uint64),
    np.array([0, 10**30, -(10**30), 4, 5], object),
    np.zeros(5, np.int32),
]


# ------------------------------------------------------------------------------------------------ drawing


@every_case("name", KINDS)
@every_case("bits", [SeededBits(1), SecureBits()], ids=["seeded", "secure"])
def test_no_count_makes_a_draw_fail(name, bits):
    noise = KINDS[name]
    for counts in STRANGE:
        before = counts.copy()
        reports = noise.draw(counts, bits)
        assert reports.dtype == np.int64 and reports.shape == (5,)
        assert (counts == before).all()
        if noise.output != "signed":
            assert (reports >= 0).all()
        if noise.output == "in-range":
            assert (reports <= noise.high).all()


@every_case("name", KINDS)
def test_counts_out_of_range_are_taken_as_its_ends(name):
    """Clamping is part of the mechanism: the same bits give the same reports."""
    noise = KINDS[name]
    top = 2**62 if noise.high is None else np.broadcast_to(noise.high, 5)
    beyond, ends = np.array([2**62, 2**63 - 1, 2**62, 2**62, 2**62]), np.broadcast_to(top, 5)
    assert (noise.draw(beyond, SeededBits(5)) == noise.draw(ends, SeededBits(5))).all()
    assert (noise.draw(np.full(5, -3), SeededBits(5)) == noise.draw(np.zeros(5, int), SeededBits(5))).all()


def test_one_unbounded_mechanism_with_clamps_is_exactly_the_truncated_one():
    """For every truth and report: the mass that the clamp collects is that of the truncated mechanism."""
    noise = cell_noise("geometric", epsilon=1, bound=4)
    truncated = dc.geometric(4, epsilon=1)
    law = noise.shift_law
    for truth in range(5):
        at_zero, at_top = 1 - law.upper(1 - truth), law.upper(4 - truth)
        collected = [at_zero, *(law.probability(y - truth) for y in (1, 2, 3)), at_top]
        assert collected == [truncated.probability(truth, y) for y in range(5)]
    truths = np.arange(1000) % 5
    assert (noise.draw(truths, SeededBits(8)) == truncated.simulate(truths, seed=8)).all()


@every_case("name", ["geometric", "gaussian", "laplace", "response", "matrix", "own laws"])
def test_draws_are_those_of_the_mechanism(name):
    noise = KINDS[name]
    truths = np.arange(200_000) % 2
    reports = noise.mechanisms[0].simulate(truths, seed=3)
    if noise.output == "in-range":
        reports = np.clip(reports, 0, noise.high)
    assert (noise.draw(truths, SeededBits(3)) == reports).all()


def test_each_cell_has_the_mechanism_of_its_size():
    sizes = np.array([3, 0, 1, 3, 1] * 200)
    noise = cell_noise("explicit-fair", epsilon=1, sizes=sizes)
    assert [m.inputs.n for m in noise.mechanisms] == [1, 3]
    truths = np.minimum(sizes, 1)
    reports = noise.draw(truths, SeededBits(4))
    bits = SeededBits(4)
    for number, size in enumerate((1, 3)):  # in this order, from one stream
        cells = sizes == size
        assert (reports[cells] == noise.mechanisms[number].kernel.sampler().draw(truths[cells], bits)).all()
    assert (reports[sizes == 0] == 0).all()


def test_the_frequencies_of_reports_are_right():
    """Seeded, with a wrong alpha as the negative control: the exact probabilities within five standard deviations."""
    size = 200_000
    reports = cell_noise(dc.two_sided_geometric(alpha="1/2"), bound=3).draw(np.full(size, 1), SeededBits(11))

    def plausible(alpha: str) -> bool:
        exact = [float(dc.geometric(3, alpha=alpha).probability(1, y)) for y in range(4)]
        seen = np.bincount(reports, minlength=4) / size
        return all(abs(s - p) < 5 * (p / size) ** 0.5 for s, p in zip(seen, exact, strict=True))

    assert plausible("1/2") and not plausible("0.51")


def test_shapes_are_kept_and_cells_are_in_order():
    noise = cell_noise("geometric", epsilon=20, sizes=np.arange(6))
    assert noise.draw(np.full((3, 2), 100), SeededBits(1)).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_a_wrong_number_of_cells_is_refused_whatever_they_hold():
    with refused(InvalidInput, token="6 cells ... 2"):
        cell_noise("geometric", epsilon=1, sizes=np.arange(6)).draw(np.array([1, 2]), SeededBits(1))


def test_floats_are_refused_without_quoting_them():
    with pytest.raises(WrongType) as problem:
        cell_noise("geometric", epsilon=1).draw(np.array([73.25]), SeededBits(1))
    assert "73" not in str(problem.value)


def test_no_noise_can_be_changed_afterwards():
    sizes = np.array([1, 2])
    noise = cell_noise("geometric", epsilon=1, sizes=sizes)
    sizes[0] = 9
    assert noise.high.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        noise.high[0] = 9


# ------------------------------------------------------------------------------------------------ making it


@every_case(
    ("arguments", "output", "high"),
    [
        ({}, "signed", None),
        ({"bound": 7}, "in-range", 7),
        ({"bound": 7, "output": "signed"}, "signed", 7),
        ({"output": "clamped"}, "clamped", None),
    ],
)
def test_outputs(arguments, output, high):
    noise = cell_noise("geometric", epsilon=1, **arguments)
    assert (noise.output, noise.high, noise.low) == (output, high, None if output == "signed" else 0)


@every_case("name", FAMILIES.cli_names("release"))
def test_every_name_can_be_written_with_either_mark(name):
    arguments = {"sigma2": 2} if name == "discrete-gaussian" else {"epsilon": 1}
    for spelling in (name, name.replace("-", "_")):
        noise = cell_noise(spelling, bound=5, **arguments)
        assert noise.draw(np.array([3]), SeededBits(1)).shape == (1,)
        assert noise.mechanisms[0].certificate.epsilon <= 1 or name == "discrete-gaussian"


def test_a_saved_mechanism_keeps_the_outputs_it_has(tmp_path):
    dc.geometric(12, epsilon=1).save(tmp_path / "m.json")
    noise = cell_noise(dc.load(tmp_path / "m.json"))
    assert (noise.output, noise.high, noise.known) == ("in-range", 12, False)
    with refused(InvalidInput, "counts"):
        cell_noise(dc.load(tmp_path / "m.json"), output="signed")
    above_zero = dc.two_sided_geometric(epsilon=1).on(Integers(0))
    assert cell_noise(above_zero).output == "clamped"
    with refused(InvalidInput, "counts"):
        cell_noise(above_zero, output="signed")


@every_case(
    ("name", "arguments", "words"),
    [
        ("poisson", {"epsilon": 1}, Parts(argument="mechanism", given="poisson")),
        ("geometric", {}, Parts(argument="epsilon", token="geometric needs epsilon")),
        ("geometric", {"epsilon": 1, "sigma2": 1}, Parts(argument="epsilon", token="geometric needs epsilon")),
        ("discrete-gaussian", {"epsilon": 1}, Parts(argument="sigma2", token="needs sigma2")),
        ("discrete-gaussian", {}, Parts(argument="sigma2", token="needs sigma2")),
        ("geometric", {"epsilon": 1, "bound": 3, "sizes": np.array([3])}, Parts(argument="bound", token="not both")),
        ("geometric", {"epsilon": 1, "bound": 0}, Parts(argument="bound", token="number from 1")),
        ("geometric", {"epsilon": 1, "bound": True}, Parts(argument="bound", token="number from 1")),
        ("geometric", {"epsilon": 1, "bound": 2.0}, Parts(argument="bound", token="number from 1")),
        ("geometric", {"epsilon": 1, "sizes": np.array([1.5])}, Parts(argument="sizes")),
        ("geometric", {"epsilon": 1, "sizes": np.array([-1])}, Parts(argument="sizes", token="0 and 2")),
        ("geometric", {"epsilon": 1, "output": "in-range"}, Parts(token="needs a largest")),
        ("geometric", {"epsilon": 1, "output": "loud"}, Parts(argument="counts", given="loud")),
        ("geometric", {"epsilon": 0}, Parts(argument="epsilon", given=0)),
        ("explicit-fair", {"epsilon": 1}, Parts(token="needs a largest")),
        ("explicit-fair", {"epsilon": 1, "bound": 3, "output": "signed"}, Parts(argument="counts", token="own range")),
        (
            "explicit-fair",
            {"epsilon": 1, "sizes": np.arange(300)},
            Parts(argument="bound", token="300 different sizes"),
        ),
        ("explicit-fair", {"epsilon": 1, "sizes": np.zeros(3, int)}, Parts(argument="sizes", token="nothing to count")),
        ("explicit-fair", {"epsilon": 1, "bound": 10**6}, Parts(token="write out")),
        ("randomized-response", {"epsilon": 1, "bound": 10**6}, Parts(token="write out")),
    ],
)
def test_requests_that_make_no_sense_are_refused(name, arguments, words):
    with refused(DiscreetError, **words):
        cell_noise(name, **arguments)


def test_tables_suit_their_own_range_only():
    fair = dc.explicit_fair(5, epsilon=1)
    assert cell_noise(fair, bound=5).high == 5
    for arguments, words in (
        ({"bound": 4}, Parts(argument="bound", token="0..5")),
        ({"sizes": np.array([5])}, Parts(argument="bound", token="0..5")),
        ({"output": "signed"}, Parts(argument="counts", token="own range")),
        ({"epsilon": 1}, Parts(argument="epsilon", token="its own epsilon")),
    ):
        with refused(InvalidInput, **words):
            cell_noise(fair, **arguments)
    with refused(Unsupported, "mechanism"):
        cell_noise(dc.random_rounding(4, base=3))


# ------------------------------------------------------------------------------------------------ files


@every_case("name", KINDS)
def test_descriptions_are_lossless(name):
    noise = KINDS[name]
    again = CellNoise.from_json(json.loads(json.dumps(noise.to_json())))
    assert again.to_json() == noise.to_json()
    counts = np.array([0, 1, 4, 5, 20])
    assert (again.draw(counts, SeededBits(6)) == noise.draw(counts, SeededBits(6))).all()
    first, second = noise.accuracy(counts), again.accuracy(counts)
    assert (first.low == second.low).all() and (first.sd == second.sd).all()


def test_a_description_that_claims_too_much_is_refused():
    for name in ("geometric", "matrix"):
        description = json.loads(json.dumps(KINDS[name].to_json()))
        description["mechanisms"][0]["certificate"]["epsilon"] = 0.01
        with refused(Altered, token="sha256"):
            CellNoise.from_json(description)


def test_a_description_of_something_else_than_counts_is_refused():
    noise = replace(KINDS["geometric"], mechanisms=(dc.randomized_response(["a", "b"], epsilon=1),))
    with refused(Unsupported, token="labels"):
        CellNoise.from_json(noise.to_json())


@every_case(
    ("change", "argument"),
    [
        ({"low": 3}, "mechanisms"),
        ({"low": None}, "mechanisms"),
        ({"output": "quiet"}, "counts"),
        ({"high": None}, "counts"),
        ({"high": -1}, "mechanisms"),
        ({"high": [1, 2]}, "mechanisms"),
        ({"high": [1, 2, 3.5, 4, 5]}, "description"),
        ({"high": "many"}, "description"),
        ({"which": [0, 0, 0, 0, 7]}, "mechanisms"),
        ({"which": [-1, -1, -1, -1, -1]}, "mechanisms"),
        ({"which": {}}, "description"),
        ({"mechanisms": []}, "mechanisms"),
        ({"known": None}, "description"),
    ],
)
def test_damaged_descriptions_are_refused(change, argument):
    description = json.loads(json.dumps(KINDS["fair"].to_json()))
    assert CellNoise.from_json(description).to_json() == description  # undamaged, it is read
    with refused(InvalidInput, argument):
        CellNoise.from_json({**description, **change})


def test_descriptions_without_their_parts_are_refused():
    with refused(InvalidInput, "description"):
        CellNoise.from_json({"output": "signed"})
    with refused(UnreadableFile, token="format"):
        CellNoise.from_json({**KINDS["fair"].to_json(), "mechanisms": [{}]})


def test_words():
    assert repr(KINDS["geometric"]).startswith("<CellNoise: <two_sided_geometric(") and "signed" in repr(
        KINDS["geometric"]
    )
    many = cell_noise("explicit-fair", epsilon=1, sizes=np.arange(1, 7))
    assert "and 3 more; in-range" in repr(many)


# ------------------------------------------------------------------------------------------------ wanted errors


def law_of(name: str, epsilon: Fraction) -> GeometricTails:
    if name == "geometric":
        return GeometricTails.two_sided(alpha_from_epsilon(epsilon))
    return GeometricTails.laplace(alpha_from_epsilon(epsilon / 2))


@every_case("name", ["geometric", "rounded-laplace"])
@every_case("level", ["0.95", "1/2", "0.999"])
@every_case("half_width", [0, 1, 3, 40])
def test_the_smallest_epsilon_for_a_wanted_error(name, level, half_width):
    epsilon = epsilon_for(name, half_width, level)

    def within(value: Fraction) -> Fraction:
        return 1 - 2 * law_of(name, value).upper(half_width + 1)

    digit = Fraction(10) ** (_power(epsilon) - 3)
    assert within(epsilon) >= Fraction(level) > within(epsilon - digit)
    assert (epsilon / digit).denominator == 1 and 1000 <= epsilon / digit <= 9999
    noise = cell_noise(name, epsilon=epsilon)
    assert noise.expected(level).half_width <= half_width


def _power(value: Fraction) -> int:
    return int(f"{float(value):.3e}".split("e")[1])


@every_case("level", ["0.95", "1/2", "0.999"])
@every_case("half_width", [0, 1, 3, 40, 2000])
def test_the_largest_sigma2_for_a_wanted_error(level, half_width):
    sigma2 = sigma2_for(half_width, level)
    digit = Fraction(10) ** (_power(sigma2) - 3)
    share = (1 - Fraction(level)) / 2
    assert Fraction(Gaussian(sigma2).tail(half_width + 1, 200)[1], 2**200) <= share
    assert Fraction(Gaussian(sigma2 + digit).tail(half_width + 1, 200)[0], 2**200) > share


def test_wanted_errors_that_cannot_be_had_are_refused():
    with refused(InvalidInput, "error"):
        epsilon_for("geometric", -1)
    with refused(InvalidInput, "error"):
        sigma2_for(1.5)
    with refused(Unsupported, token="sigma2"):
        epsilon_for("discrete-gaussian", 3)
    with refused(Unsupported, token="calibrate"):
        epsilon_for("explicit-fair", 3)
    assert epsilon_for("geometric", 10**12) == Fraction(1, 10**9)


@given(st.integers(-20_000, 20_000))
def test_numbers_of_four_digits_are_in_order(number):
    assert _four_digits(number) < _four_digits(number + 1)
    assert _index_below(float(_four_digits(number))) == number


def test_a_mechanism_on_counts_is_enough():
    assert cell_noise(dc.uniform(Counts(3))).expected("0.9").half_width == 3


def test_a_ready_mechanism_that_is_paid_too_much_is_noted(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("person,site\nann,1\n")
    asked = {"data": tmp_path / "visits.csv", "unit": "person", "max_groups": 1, "domain": {"site": [1, 2]}}
    asked["mechanism"] = dc.geometric(20, epsilon="0.1")
    dear = dc.plan_release("SELECT site, COUNT(*) FROM visits GROUP BY site", epsilon=1, **asked)
    assert any("epsilon 0.1 here" in note for note in dear.notes)
    for epsilon in ({}, {"epsilon": "0.1"}):
        assert not dc.plan_release("SELECT site, COUNT(*) FROM visits GROUP BY site", **asked, **epsilon).notes
