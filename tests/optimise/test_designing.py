"""Design: golden values, the paper's facts, exact proofs, determinism, conflicts."""

from __future__ import annotations

import csv
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import properties, requirements
from discreet.errors import Altered, Conflict, InvalidInput, Unsupported
from discreet.optimise.design import closed
from discreet.optimise.design.chooser import cost_of
from discreet.optimise.design.design import read_request
from discreet.optimise.design.report import Design, report_of_design
from discreet.optimise.lp.search import search
from discreet.report import Fact
from support.golden import golden_prior
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

SEVEN = ("S", "RH", "RM", "CH", "CM", "F", "WH")


def _details(mechanism):
    return mechanism.certificate.details


def _sound(mechanism, alpha, codes=()):
    """Private at no more than alpha and with all properties, decided in integers."""
    assert dc.verify(mechanism).ratio <= 1 / Fraction(alpha)
    assert not codes or all(dc.check(mechanism, requirements.resolve(codes)).values())
    details = _details(mechanism)
    assert details["gap"] >= 0 and details["least"] <= details["cost_about"] + 1e-12


# ------------------------------------------------------------------------------------------------ golden values


def test_every_golden_optimum_of_the_paper_is_met_exactly(golden):
    """golden_004.csv: optima of [C]'s programs in exact arithmetic, as fractions."""
    lines = list(csv.DictReader((golden / "golden_004.csv").read_text().splitlines()))
    assert len(lines) > 60
    for line in lines:
        n, worst = int(line["n"]), line["aggregate"] == "max"
        codes = () if line["properties"] == "none" else line["properties"].split("+")
        m = dc.design(
            n, alpha=line["alpha"], loss=line["objective"], properties=codes, worst_case=worst,
            prior=None if worst else golden_prior(line["prior"], n),
        )  # fmt: skip
        assert _details(m)["cost"] == line["raw_exact"], line
        assert _details(m)["gap"] <= 1e-10
        _sound(m, line["alpha"], codes)


def test_figures_8_and_9(golden):
    """fig8_9.csv: rescaled L0 of GM, WH, WH+CM, EM and UM, [C] figures 8 and 9, to 1e-9."""
    for line in csv.DictReader((golden / "fig8_9.csv").read_text().splitlines()):
        n, alpha = int(line["n"]), line["alpha"]
        scale = Fraction(n + 1, n)
        for column, codes in (("GM", ()), ("WH", ("WH",)), ("WH_CM", ("WH", "CM", "RM", "S")), ("EM", ("F",))):
            cost = cost_of(dc.design(n, alpha=alpha, properties=codes)) * scale
            assert abs(float(cost) - float(line[column])) < 1e-9, (line, column)


# ------------------------------------------------------------------------------------------------ facts of the paper


@pytest.mark.parametrize(("n", "alpha"), [(4, "10/11"), (5, "3/4"), (6, "2/5")])
def test_128_property_sets_have_at_most_four_costs(n, alpha):
    """[C] section IV-D: none, WH, CH or CM, F decide; everything else is free."""
    kinds: dict[str, set[Fraction]] = {"F": set(), "column": set(), "WH": set(), "none": set()}
    for size in range(8):
        for codes in itertools.combinations(SEVEN, size):
            kind = "F" if "F" in codes else "column" if {"CH", "CM"} & set(codes) else "WH" if "WH" in codes else "none"
            kinds[kind].add(cost_of(dc.design(n, alpha=alpha, properties=codes)))
    assert all(len(costs) == 1 for costs in kinds.values())
    none, honest, column, fair = (kinds[k].pop() for k in ("none", "WH", "column", "F"))
    assert none <= honest <= column <= fair


@given(st.integers(1, 9), st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=30))
@examples(40)
def test_the_geometric_mechanism_has_just_the_properties_the_lemmas_say(n, alpha):
    """[C] lemmas 2 and 3 (the second's proof has the inequality reversed; its statement holds for n >= 2)."""
    checked = {code for code, result in dc.check(dc.geometric(n, alpha=alpha)).items() if result.holds}
    assert checked == closed.geometric_codes(n, alpha)


@pytest.mark.parametrize(("n", "alpha"), [(3, "1/2"), (5, "9/10"), (8, "3/4")])
def test_the_linear_program_agrees_that_geometric_is_the_unique_optimum(n, alpha):
    """[C] theorem 3: the program without the closed forms ends at the same table, and only there."""
    request, stated = read_request(
        n, alpha=alpha, epsilon=None, delta=0, loss="L0", properties=(), prior=None, worst_case=False
    )
    found = search(request, stated)
    assert found.first.unique
    geometric = dc.geometric(n, alpha=alpha)
    assert all(
        found.certified.table.probability(i, j) == geometric.probability(i, j)
        for i in range(n + 1)
        for j in range(n + 1)
    )


@every_case(("n", "alpha"), [(2, "1/2"), (5, "9/10"), (8, "3/4"), (9, "1/5")])
def test_explicit_fair_is_minimax_even_without_any_property(n, alpha):
    request, stated = read_request(
        n, alpha=alpha, epsilon=None, delta=0, loss="L0", properties=(), prior=None, worst_case=True
    )
    table = search(request, stated).certified.table
    worst = max(1 - table.probability(i, i) for i in range(n + 1))
    assert worst == 1 - closed.fair_diagonal(n, Fraction(alpha))
    assert dc.cost(dc.explicit_fair(n, alpha=alpha), "L0", worst_case=True, exact=True) == worst


@given(st.integers(1, 14), st.fractions(Fraction(1, 20), Fraction(24, 25), max_denominator=25))
@examples(25)
def test_weak_honesty_has_a_cost_in_closed_form(n, alpha):
    m = dc.design(n, alpha=alpha, properties="WH")
    assert cost_of(m) == closed.weakly_honest_cost(n, alpha)


def test_closed_costs_are_those_of_the_tables():
    for n, alpha in ((1, "1/3"), (2, "2/3"), (7, "3/4"), (10, "9/10")):
        for codes, family in (((), dc.geometric), (("F",), dc.explicit_fair)):
            m = dc.design(n, alpha=alpha, properties=codes)
            assert cost_of(m) == dc.cost(m, "L0", exact=True) == dc.cost(family(n, alpha=alpha), "L0", exact=True)


# ------------------------------------------------------------------------------------------------ proofs


@every_case("n", [1, 2, 3, 7, 16, 33])
@every_case("alpha", ["1/20", "1/3", "31/50", "9/10", "199/200"])
def test_realised_epsilon_never_exceeds_the_request(n, alpha):
    for loss, codes in (("L1", SEVEN), ("L2", ("WH", "CM")), ("L1", ("CH", "RM")), ("L0_1", ("F",)), ("L0", ("CM",))):
        m = dc.design(n, alpha=alpha, loss=loss, properties=codes)
        _sound(m, alpha, codes)
        assert _details(m)["gap"] <= 1e-8 * max(1.0, _details(m)["cost_about"])


@pytest.mark.full
@every_case("n", [50, 100])
@every_case("alpha", ["1/20", "1/2", "31/50", "9/10", "99/100", "199/200"])
def test_realised_epsilon_never_exceeds_the_request_for_larger_n(n, alpha):
    for loss, codes in (("L1", SEVEN), ("L2", ("WH", "CM")), ("L1", ("WH",))):
        m = dc.design(n, alpha=alpha, loss=loss, properties=codes)
        _sound(m, alpha, codes)
        # a vertex that does not stand is mixed with an interior mechanism: 2.7e-8 at alpha = 31/50 on some processors
        assert _details(m)["gap"] <= 5e-8 * _details(m)["cost_about"]


@given(
    st.integers(1, 6),
    st.fractions(Fraction(1, 10), Fraction(19, 20), max_denominator=20),
    st.sets(st.sampled_from(SEVEN)),
    st.sampled_from(["L0", "L1", "L2", "L0_1", "L1/2"]),
    st.booleans(),
    st.lists(st.integers(1, 9), min_size=7, max_size=7),
)
@examples(60)
def test_designs_are_sound_and_no_better_mechanism_is_known(n, alpha, codes, loss, worst_case, weights):
    """The bound is a true one: explicit fair, which has all seven properties, and the uniform never cost less."""
    prior = None if worst_case else [Fraction(w, sum(weights[: n + 1])) for w in weights[: n + 1]]
    m = dc.design(n, alpha=alpha, loss=loss, properties=sorted(codes), prior=prior, worst_case=worst_case)
    _sound(m, alpha, sorted(codes))
    assert _details(m)["gap"] <= 1e-9 * max(1.0, _details(m)["cost_about"])
    for other in (dc.explicit_fair(n, alpha=alpha), dc.uniform(n)):
        assert dc.cost(other, loss, prior=prior, worst_case=worst_case) >= _details(m)["least"] - 1e-12
    assert math.isclose(dc.cost(m, loss, prior=prior, worst_case=worst_case), _details(m)["cost_about"], rel_tol=1e-9)


def test_an_epsilon_is_kept_and_stated():
    m = dc.design(12, epsilon=1, loss="L1", properties="CM")
    assert m.certificate.epsilon <= 1 and dc.verify(m).holds(epsilon=1)


def test_the_repaired_table_is_proved_too_and_says_so(monkeypatch):
    """Where no exact vertex stands, a table a hair's breadth inside passes the same checks."""
    from discreet.optimise.lp import search as room

    monkeypatch.setattr(room, "exact_vertex", lambda *_: None)
    for n, alpha, codes in ((6, "9/10", SEVEN), (7, "1/2", ("WH", "CM")), (12, "31/50", ("RM",)), (9, "99/100", SEVEN)):
        m = dc.design(n, alpha=alpha, loss="L1", properties=codes)
        details = _details(m)
        assert details["certified"] == "mixed and rounded" and 0 < details["mixing"] < 1e-6
        _sound(m, alpha, codes)
        assert details["gap"] < 1e-5


def test_the_interior_mechanism_has_room_in_every_inequality():
    from discreet.optimise.lp.interior import interior

    for n, alpha in itertools.product((1, 2, 5, 8, 13), (Fraction(1, 20), Fraction(1, 2), Fraction(99, 100))):
        weights, total = interior(n, alpha)
        q = np.array(weights, dtype=object)
        assert all(sum(row) == total for row in weights)
        assert len({weights[i][i] for i in range(n + 1)}) == 1 and (q == q[::-1, ::-1]).all()
        assert weights[0][0] * (n + 1) > total
        for prop in (properties.PROPERTIES[code] for code in ("RH", "RM", "CH", "CM")):
            rows = prop.rows(n)
            assert all(q.ravel()[a] > q.ravel()[b] for a, b in rows.places.tolist())
        assert all(
            q[i, j] > alpha * q[i + 1, j] and q[i + 1, j] > alpha * q[i, j] for i in range(n) for j in range(n + 1)
        )


# ------------------------------------------------------------------------------------------------ one answer


@every_case(
    ("loss", "codes"), [("L0", ("WH",)), ("L0", ("CM",)), ("L1", SEVEN), ("L0_1", ("WH", "CM")), ("L2", ("CH",))]
)
def test_ties_go_to_the_symmetric_and_row_monotone(loss, codes):
    m = dc.design(7, alpha="10/11", loss=loss, properties=codes)
    assert dc.check(m)["S"].holds
    if loss == "L0":
        assert dc.check(m)["RM"].holds


def test_the_order_of_properties_does_not_matter_nor_does_the_road():
    alphas = ["7/10", "4/5", "17/20", "9/10"]
    for loss, codes in (("L0", ("WH", "CM")), ("L1", SEVEN)):
        alone = [dc.design(9, alpha=a, loss=loss, properties=codes) for a in alphas]
        turned = [dc.design(9, alpha=a, loss=loss, properties=codes[::-1]) for a in alphas]
        chain = list(dc.design_each(9, alphas=alphas, loss=loss, properties=codes))
        for one, two, three in zip(alone, turned, chain, strict=True):
            for other in (two, three):
                assert (one.kernel.codes == other.kernel.codes).all() and one.kernel.palette == other.kernel.palette


def test_epsilons_can_be_swept_like_alphas():
    epsilons = ["1/10", 0.5, 2]
    chain = list(dc.design_each(6, epsilons=epsilons, loss="L1", properties="WH"))
    assert chain == [dc.design(6, epsilon=e, loss="L1", properties="WH") for e in epsilons]
    for wrong in ({}, {"alphas": ["1/2"], "epsilons": [1]}):
        with refused(InvalidInput, "alphas"):
            dc.design_each(6, **wrong)
    with refused(InvalidInput, "epsilon"):  # at once, and not at the third design
        dc.design_each(6, epsilons=[1, 2, -1])


# ------------------------------------------------------------------------------------------------ further requirements


@every_case(
    ("alpha", "codes"),
    [
        ("1/2", ("bias<=1/2",)), ("9/10", ("mse<=20", "WH")), ("9/10", ("truth=1/8",)), ("9/10", ("truth>=3/25", "S")),
        ("9/10", ("steps>=9/10",)), ("9/10", ("no spikes", "RM")), ("9/10", ("zeros[0-8]",)),
        ("1/2", ("bias<=2", "CM", "F")), ("1/2", ("mse<=3", "bias<=3/2")),
    ],
)  # fmt: skip
def test_requirements_with_a_number_are_met_exactly(alpha, codes):
    m = dc.design(8, alpha=alpha, loss="L1", properties=codes)
    _sound(m, alpha, codes)
    assert _details(m)["gap"] <= 1e-9


def test_structural_zeros_are_zeros():
    m = dc.design(6, alpha="1/2", loss="L1", delta="1/10", properties=[requirements.zeros([(0, 6), (6, 0)]), "WH"])
    assert m.probability(0, 6) == 0 == m.probability(6, 0)


def test_a_property_of_ones_own_is_one_object():
    """One builder of rows: the program obeys it, the check sees it, the conflict names it."""
    build = lambda truths, reports: properties.Rows(np.array([[0, reports]]), np.array([2, -3]), ">=")  # noqa: E731
    mine = properties.Property("mine", "mine", "P[0, 0] >= 1.5 P[1, 0].", "", build)
    m = dc.design(4, alpha="1/2", loss="L2", properties=[mine, "WH"])
    assert 2 * m.probability(0, 0) >= 3 * m.probability(1, 0)
    with refused(Conflict, "properties"):
        dc.design(4, alpha="9/10", loss="L2", properties=[mine, "WH"])


# ------------------------------------------------------------------------------------------------ approximate privacy


@every_case("delta", ["1/10", "1/1000", "1e-6"])
@every_case("codes", [(), ("CM", "WH"), SEVEN])
def test_delta_is_the_true_hockey_stick_and_no_looser_mechanism_is_given(delta, codes):
    m = dc.design(7, epsilon="1/2", delta=delta, loss="L1", properties=codes)
    verdict = dc.verify(m)
    assert verdict.holds(epsilon="1/2", delta=delta)
    assert not codes or all(dc.check(m, codes).values())
    assert m.certificate.delta == pytest.approx(float(Fraction(delta)))
    assert _details(m)["gap"] <= 1e-7
    pure = dc.design(7, epsilon="1/2", loss="L1", properties=codes)
    assert cost_of(m) < cost_of(pure)


def test_delta_is_used_up():
    m = dc.design(5, alpha="1/2", delta="1/20", loss="L1")
    assert dc.verify(m).delta(dc.verify(dc.geometric(5, alpha="1/2")).epsilon) == pytest.approx(0.05, abs=1e-9)


def test_bounded_noise_needs_a_delta():
    with refused(Conflict, "properties"):
        dc.design(8, alpha="1/2", loss="L1", properties="support<=2")
    m = dc.design(8, alpha="1/2", loss="L1", properties="support<=2", delta="1/10")
    assert all(m.probability(i, j) == 0 for i in range(9) for j in range(9) if abs(i - j) > 2)


# ------------------------------------------------------------------------------------------------ conflicts


def test_conflicts_name_an_irreducible_set():
    with pytest.raises(Conflict) as told:
        dc.design(8, alpha="9/10", loss="L1", properties=["mse<=2", "WH", "CM", "S"])
    assert told.value.requirements == ("privacy", "mse<=2")
    for dropped in ("mse<=2", None):
        kept = [] if dropped else ["mse<=2"]
        options = {"alpha": "9/10"} if dropped else {"alpha": "1/100"}
        dc.design(8, loss="L1", properties=[*kept, "WH", "CM", "S"], **options)


def test_conflicts_without_privacy_leave_it_out():
    with pytest.raises(Conflict) as told:
        dc.design(6, alpha="1/2", properties=["truth>=1/2", "truth=1/4", "RM"])
    assert told.value.requirements == ("truth>=1/2", "truth=1/4")


def test_unbiased_and_private_and_in_range_cannot_be():
    with refused(Conflict, "properties"):
        dc.design(8, alpha="1/2", properties=["bias<=0", "WH"])


# ------------------------------------------------------------------------------------------------ large n


@every_case(
    ("alpha", "loss", "codes"),
    [
        ("9/10", "L1", "RM+WH+S"),
        ("9/10", "L2", "WH"),
        ("1/20", "L1", "RM"),
        ("14/15", "L1", "WH+S"),
        ("1/2", "L2", "RM"),
    ],
)
def test_what_looks_at_one_report_at_a_time_is_solved_by_rays(alpha, loss, codes):
    m = dc.design(120, alpha=alpha, loss=loss, properties=codes)
    assert _details(m)["certified"] == "rounded inside the cone"
    _sound(m, alpha, codes)
    assert _details(m)["gap"] <= 1e-6 * _details(m)["cost_about"]


@pytest.mark.parametrize(
    ("alpha", "loss", "codes"), [("9/10", "L1", "RM+WH+S"), ("3/4", "L2", "WH"), ("9/10", "L1", "RM")]
)
def test_rays_and_the_program_agree(alpha, loss, codes):
    from discreet.optimise.lp.rays import solve_by_rays

    weights = [Fraction(j + 1, 210) for j in range(20)]
    for prior in (None, weights):
        if prior is not None and "S" in codes:
            continue
        request, stated = read_request(
            19, alpha=alpha, epsilon=None, delta=0, loss=loss, properties=codes, prior=prior, worst_case=False
        )
        table = solve_by_rays(request, stated).certified.table
        exact = cost_of(dc.design(19, alpha=alpha, loss=loss, properties=codes, prior=prior))
        assert exact <= dc.cost(table, loss, prior=prior, exact=True) <= exact * (1 + Fraction(1, 10**6))


def test_closed_forms_reach_any_n(tmp_path):
    m = dc.design(100_000, epsilon=1, properties=["WH", "RM"])
    assert _details(m)["form"] == "GM" and m.certificate.epsilon <= 1
    m.save(tmp_path / "m.json")
    assert dc.load(tmp_path / "m.json").certificate.details["form"] == "GM"


def test_too_large_a_program_is_refused_before_any_work():
    with refused(Unsupported, "n"):
        dc.design(2000, alpha="9/10", loss="L1", properties="CM")


# ------------------------------------------------------------------------------------------------ handing over


def test_a_saved_design_keeps_its_certificate_and_is_checked_again(tmp_path):
    m = dc.design(10, alpha="9/10", loss="L1", properties=SEVEN)
    m.save(tmp_path / "m.json")
    again = dc.load(tmp_path / "m.json")
    assert dict(again.certificate.details) == dict(m.certificate.details)
    assert again.parameters["properties"] == list(SEVEN)
    assert again.certificate.details["cost"] == "43134123036/14387965625"


def test_a_saved_bound_on_the_bias_is_read_back(tmp_path):
    m = dc.design(5, alpha="1/2", loss="L2", properties=["bias<=1", "WH"], delta="1/100")
    m.save(tmp_path / "m.json")
    assert dc.load(tmp_path / "m.json").parameters["properties"] == ["bias<=1", "WH"]


def test_a_file_that_claims_a_property_it_lacks_is_refused(tmp_path):
    import json

    from discreet.mechanism import fingerprint

    path = tmp_path / "m.json"
    dc.design(4, alpha="10/11", properties="WH").save(path)
    content = json.loads(path.read_text())
    content["parameters"]["properties"] = ["F"]
    content["sha256"] = fingerprint(content)
    path.write_text(json.dumps(content))
    with refused(Altered, token="property F"):
        dc.load(path)


@every_case(
    "wrong",
    [
        {"alpha": "1/2", "epsilon": 1}, {"alpha": "3/2"}, {"alpha": "1/2", "delta": 1}, {"alpha": "1/2", "loss": "L-1"},
        {"alpha": "1/2", "properties": ["XX"]}, {"alpha": "1/2", "properties": ["WH", "WH"]},
        {"alpha": "1/2", "prior": [1, 2]}, {"alpha": "1/2", "prior": [0.5, 0.5, 0], "worst_case": True},
        {"alpha": "1/2", "loss": [[0, 1], [1, 0]]},
    ],
)  # fmt: skip
def test_bad_requests_are_refused(wrong):
    with pytest.raises(InvalidInput):
        dc.design(2, **wrong)


# ------------------------------------------------------------------------------------------------ choosing


@every_case(
    ("n", "alpha", "codes", "name"),
    [
        (8, "9/10", ("F",), "EM"), (8, "9/10", ("S", "RM"), "GM"), (8, "1/2", ("CM", "WH"), "GM"),
        (8, "9/10", ("CM",), "WM"), (8, "9/10", ("WH",), "WM"), (20, "9/10", ("WH",), "GM"),
        (20, "9/10", ("CH",), "WM"), (8, "9/10", (), "GM"),
    ],
)  # fmt: skip
def test_the_flowchart_of_figure_5(n, alpha, codes, name):
    choice = dc.choose(n, alpha=alpha, properties=codes)
    assert choice.name == name and choice.why
    titles = {"EM": "explicit fair", "GM": "truncated geometric", "WM": "the linear program's answer for WH, CH or CM"}
    assert choice.report().facts[0] == Fact(name, titles[name])
    assert set(choice.without) == set(codes)
    assert all(cost <= choice.cost for cost in choice.without.values())


@every_case(
    ("options", "words"),
    [
        ({}, "least expected L0, uniform prior"),
        ({"properties": ["WH", "CM"], "loss": "L1"}, "least expected L1 with WH and CM, uniform prior"),
        ({"worst_case": True, "properties": "bias<=1"}, "least expected L0 of the worst count with bias<=1"),
        ({"prior": [4, 2, 1], "loss": "L2"}, "least expected L2, the prior given"),
    ],
)
def test_a_design_says_what_was_asked_for_and_what_it_costs(options, words):
    if "prior" in options:
        options = options | {"prior": [Fraction(w, 7) for w in options["prior"]]}
    mechanism = dc.design(2, alpha="1/2", **options)
    report = report_of_design(mechanism)
    lines = dict(report.sections[0].parts[0].pairs)
    assert lines["asked"] == words and lines["certified"] == mechanism.certificate.details["certified"]
    assert lines["cost"].endswith("the least possible") and "at most 0 from" not in lines["cost"]
    assert report.facts[-1].value == f"{mechanism.certificate.details['cost_about']:.3g}"


def test_a_mechanism_made_by_name_shows_what_it_was_made_from():
    text = Design(dc.bounded_noise(epsilon="3/2", reach=3, stay="1/2")).describe()
    assert "proved " in text and "asked" not in text and "made by   <bounded_noise(" in text and "reach=3" in text


def test_what_each_property_costs():
    choice = dc.choose(4, alpha="10/11", properties=["WH", "CM", "S"])
    assert choice.without == {"WH": choice.cost, "CM": Fraction(484, 625), "S": choice.cost}
    assert "CM costs" in str(choice) and "S costs nothing" in str(choice)
    assert choice.to_json()["without"]["CM"] == pytest.approx(484 / 625)
    text = choice.describe().splitlines()
    assert text.index("Why WM") < text.index("What each property costs") and text[1].startswith("proved ")
    assert {line.split()[0] for line in text[text.index("What each property costs") + 1 :]} == {"WH", "CM", "S"}
    other = dc.choose(4, alpha="10/11", loss="L2", properties=["CM"], worst_case=True)
    assert other.name == "LP" and other.cost >= other.without["CM"]


def test_the_flowchart_says_what_was_asked_for_where_there_is_one_count() -> None:
    """For n = 1 the geometric mechanism is fair, and always weakly honest."""
    why = dc.choose(1, alpha="9/10", properties=["F", "WH"]).why
    assert why[0] == "Fair? Yes, and for n = 1 GM is fair."
    assert why[1] == "Weakly honest? Yes, and GM is: for n = 1 it always is."
    assert dc.choose(1, alpha="9/10", properties=["CM"]).why[1].endswith("GM has them, since n = 1.")
    assert dc.choose(4, alpha="1/3", properties=["CM"]).why[1].endswith("GM has them, since alpha <= 1/2.")


def test_a_conflict_names_the_privacy_that_was_typed() -> None:
    with refused(dc.errors.Conflict, "properties"):
        dc.design(4, epsilon="0.5", loss="L1", properties="bias<=0")


def test_theorems_about_the_seven_are_not_taken_for_true_of_other_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    """A property that joins the list is designed for as it is: it need not look the same from the other end."""
    from discreet.properties import PROPERTIES, Property, Rows

    def lopsided(truths: int, reports: int) -> Rows:
        places = np.array([[0, reports + 1]])
        return Rows(places, np.array([1, -2]), ">=", Fraction(0))

    def cost(prop: Property, **asked: object) -> float:
        return dc.design(5, epsilon=1, properties=[prop], **asked).certificate.details["cost_about"]

    prop = Property("Z", "lopsided", "P[0, 0] >= 2 P[1, 1].", "here", lopsided, square=True)
    before = [cost(prop, loss="L1"), cost(prop), cost(prop, worst_case=True)]
    monkeypatch.setitem(PROPERTIES, "Z", prop)
    assert [cost(prop, loss="L1"), cost(prop), cost(prop, worst_case=True)] == before
    assert before[0] < 0.645  # 0.65276 with the two ends tied together
