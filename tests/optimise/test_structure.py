"""Symmetry for free, and what can be derived from the geometric mechanism."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from discreet.exact.tables import Table
from discreet.mechanism import finish
from discreet.optimise.improve.structure import derivable, symmetrise
from discreet.privacy.certificate import Privacy
from support.grids import every_case
from support.refusals import refused
from support.tiers import examples

ALPHAS = ["1/10", "1/3", "1/2", "10/11", "99/100"]


def mechanism_of(rows):
    """A mechanism from rows of Fractions or integers."""
    scaled = []
    for row in rows:
        fractions = [Fraction(v) for v in row]
        common = np.lcm.reduce([f.denominator for f in fractions], dtype=object)
        scaled.append([int(f * common) for f in fractions])
    space = dc.Counts(len(rows) - 1)
    return finish("given", space, dc.Counts(len(rows[0]) - 1), Table.from_rows(scaled), {})


def entries(mechanism):
    shape = mechanism.inputs.size, mechanism.outputs.size
    return [[mechanism.probability(i, j) for j in range(shape[1])] for i in range(shape[0])]


def product(left, right):
    return [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*right, strict=True)] for row in left
    ]


def solve(matrix, right):
    """T with matrix T = right, by Gauss-Jordan elimination in Fractions."""
    rows = [[*a, *b] for a, b in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(r for r in range(k, len(rows)) if rows[r][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for r in range(len(rows)):
            if r != k:
                rows[r] = [v - rows[r][k] * w for v, w in zip(rows[r], rows[k], strict=True)]
    return [row[len(matrix) :] for row in rows]


@st.composite
def stochastic(draw, rows, columns, least=0):
    weights = [
        draw(st.lists(st.integers(least, 9), min_size=columns, max_size=columns).filter(any)) for _ in range(rows)
    ]
    return [[Fraction(w, sum(row)) for w in row] for row in weights]


# ------------------------------------------------------------------------------------------------ derivability


@every_case("alpha", ALPHAS)
@every_case("n", [1, 2, 3, 8, 25])
def test_the_geometric_mechanism_is_derivable_from_itself_and_the_explicit_fair_is_not(n, alpha):
    own = derivable(dc.geometric(n, alpha=alpha))
    assert own and own.alpha == Fraction(alpha) and own.where is None and own.violation == 0
    fair = derivable(dc.explicit_fair(n, alpha=alpha))
    assert bool(fair) == (n == 1)
    if n > 1:
        # [C] section IV-D: (ya - a ya) >= a (y - a ya) is 1 >= 1 + a, never true
        assert fair.violation > 0 and fair.where.startswith("report ")
        assert fair.where in str(fair)


@examples(150)
@given(st.data(), st.integers(1, 4), st.sampled_from(ALPHAS), st.sampled_from([0, 1, Fraction(1, 2), Fraction(1, 50)]))
def test_three_entries_decide_exactly_as_the_factorisation_does(data, n, alpha, share):
    """P = G T with T >= 0, solved by elimination, against the test on three adjacent entries."""
    geometric = entries(dc.geometric(n, alpha=alpha))
    processed = product(geometric, data.draw(stochastic(n + 1, n + 1)))
    fair = entries(dc.explicit_fair(n, alpha=alpha))
    mixed = [
        [(1 - share) * p + share * q for p, q in zip(*rows, strict=True)] for rows in zip(processed, fair, strict=True)
    ]
    found = derivable(mechanism_of(mixed), alpha=alpha)
    factor = solve(geometric, mixed)
    assert all(sum(row) == 1 for row in factor)
    assert found.holds == all(v >= 0 for row in factor for v in row)
    if share == 0:
        assert found


def test_both_answers_occur_among_mixtures_with_the_explicit_fair():
    """What the comparison above draws: nothing of EM is derivable, all of it is not, and neither answer is constant."""
    geometric, fair = entries(dc.geometric(2, alpha="1/2")), entries(dc.explicit_fair(2, alpha="1/2"))
    for share, holds in [(0, True), (Fraction(1, 50), False), (1, False)]:
        mixed = [
            [(1 - share) * p + share * q for p, q in zip(*rows, strict=True)]
            for rows in zip(geometric, fair, strict=True)
        ]
        assert derivable(mechanism_of(mixed), alpha="1/2").holds is holds
        assert all(v >= 0 for row in solve(geometric, mixed) for v in row) is holds


@examples(60)
@given(st.data(), st.integers(1, 4), st.integers(2, 5))
def test_the_default_alpha_is_the_tight_one(data, n, reports):
    rows = data.draw(stochastic(n + 1, reports, least=1))
    found = derivable(mechanism_of(rows))
    worst = max(max(a / b, b / a) for x, y in itertools.pairwise(rows) for a, b in zip(x, y, strict=True))
    assert found.alpha == 1 / worst
    if worst > 1:
        factor = solve(entries(dc.geometric(n, alpha=1 / worst)), rows)
        assert found.holds == all(v >= 0 for row in factor for v in row)
    else:
        assert found  # a mechanism that says nothing can ignore any report


def test_the_place_and_size_of_the_worst_violation():
    found = derivable(dc.explicit_fair(2, alpha="1/2"), alpha="1/4")
    assert found  # more revealing reports to start from: now it can be derived
    found = derivable(mechanism_of([["1/2", "1/2"], ["1/4", "3/4"]]), alpha="3/4")
    assert not found
    assert found.where == "report 0, truths 0, 1: 1/4 < a 1/2 with a = 3/4"
    assert found.violation == Fraction(3, 8) - Fraction(1, 4)


def test_derivability_says_its_answer_first_and_the_place_in_words():
    no, yes = derivable(dc.explicit_fair(2, alpha="1/2")), derivable(dc.geometric(2, alpha="1/2"))
    assert no.describe().startswith("Derivable from the geometric mechanism: no\nIt cannot be derived")
    assert yes.describe().startswith("Derivable from the geometric mechanism: yes\nIt can be derived")
    assert "violation" in no.describe() and "violation" not in yes.describe()
    assert no.to_json()["violation"] == "1/16" and no.to_json()["where"] == no.where and yes.to_json()["where"] is None
    assert "<dd><bdi>1/16</bdi></dd>" in no.report().page()


def test_derivability_with_numbers_too_long_to_write_out_still_speaks():
    no = replace(derivable(dc.explicit_fair(2, alpha="1/2")), violation=Fraction(1, 3**9000))
    assert no.to_json()["violation"] is None and "about" in no.report().page()


def test_mechanisms_without_a_finite_epsilon_can_always_be_derived():
    assert derivable(mechanism_of([[1, 0], [0, 1]])).alpha == 0
    assert derivable(dc.uniform(5)).alpha == 1


def test_derivability_is_refused_where_it_makes_no_sense():
    with refused(Unsupported, "mechanism"):
        derivable(dc.randomized_response(["a", "b"], epsilon=1))
    with refused(Unsupported, "mechanism"):
        derivable(dc.discrete_gaussian(sigma2=4).on(dc.Counts(5)))
    with refused(InvalidInput, "mechanism"):
        derivable([[0.5, 0.5], [0.5, 0.5]])
    assert not derivable(dc.randomized_response(6, epsilon=1))  # a local certificate: the central ratio is used


def test_large_mechanisms_are_decided_quickly():
    assert derivable(dc.geometric(150, epsilon=0.3))
    assert not derivable(dc.explicit_fair(150, epsilon=0.3))


# ------------------------------------------------------------------------------------------------ symmetry


@examples(60)
@given(st.data(), st.integers(1, 5))
def test_symmetrising_is_the_mean_with_the_mirror_image(data, n):
    rows = data.draw(stochastic(n + 1, n + 1, least=1))
    source = mechanism_of(rows)
    even = symmetrise(source)
    assert even.family == "symmetrised"
    assert entries(even) == [[(rows[i][j] + rows[n - i][n - j]) / 2 for j in range(n + 1)] for i in range(n + 1)]
    assert dc.check(even, "S")["S"].holds
    assert even.certificate.ratio <= source.certificate.ratio
    held = {code for code, result in dc.check(source).items() if result}
    assert all(dc.check(even)[code] for code in held)
    for loss in ("L0", "L1", "L2", dc.losses.beyond(1)):
        assert dc.cost(even, loss, exact=True) == dc.cost(source, loss, exact=True)
        assert dc.cost(even, loss, worst_case=True, exact=True) <= dc.cost(source, loss, worst_case=True, exact=True)


@examples(40)
@given(st.data(), st.integers(1, 4), st.sampled_from(["RH", "RM", "CH", "CM", "F", "WH"]))
def test_each_property_is_kept(data, n, code):
    """Mixtures of the explicit fair mechanism (which has them all) with anything that still has the property."""
    fair = entries(dc.explicit_fair(n, alpha="1/2"))
    other = data.draw(stochastic(n + 1, n + 1, least=1))
    share = next(
        s
        for s in (Fraction(1), Fraction(1, 2), Fraction(1, 8), Fraction(1, 64), Fraction(0))
        if dc.check(mechanism_of(_mix(fair, other, s)), code)[code]
    )
    source = mechanism_of(_mix(fair, other, share))
    assert dc.check(symmetrise(source), code)[code]


def _mix(first, second, share):
    return [
        [(1 - share) * p + share * q for p, q in zip(*rows, strict=True)] for rows in zip(first, second, strict=True)
    ]


def test_an_uneven_prior_is_refused_and_an_even_one_is_said():
    source = mechanism_of([["3/4", "1/4", 0], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]])
    with refused(InvalidInput, "prior"):
        symmetrise(source, prior=[0.5, 0.3, 0.2])
    even = symmetrise(source, prior=[0.25, 0.5, 0.25])
    assert even.parameters["same_cost_for"] == "the prior given and symmetric losses"
    assert symmetrise(source).parameters["same_cost_for"] == "symmetric weights and losses"
    prior = ["1/4", "1/2", "1/4"]
    weights = [Fraction(p) for p in prior]
    assert dc.cost(even, "L1", prior=weights, exact=True) == dc.cost(source, "L1", prior=weights, exact=True)
    # under the uneven prior the cost does change: the refusal is not pedantry
    uneven = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    assert dc.cost(even, "L0", prior=uneven, exact=True) != dc.cost(source, "L0", prior=uneven, exact=True)


def test_symmetrised_mechanisms_can_be_saved_and_released(tmp_path):
    source = dc.from_matrix([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["3/8", "3/8", "1/4"]])
    even = symmetrise(source)
    even.save(tmp_path / "even.json")
    again = dc.load(tmp_path / "even.json")
    assert again.family == "symmetrised"
    assert entries(again) == entries(even)
    stated = again.certificate.to_json()
    assert stated.pop("unproved") == ["family", "source", "same_cost_for"]  # a file only says them
    assert stated == even.certificate.to_json()
    assert 0 <= again.release(1) <= 2
    assert dc.check(again)["S"]


def test_symmetrising_keeps_an_epsilon_delta_guarantee():
    rows = [[0.5, 0.5, 0.0], [0.3, 0.4, 0.3], [0.0, 0.6, 0.4]]
    source = dc.from_matrix(rows, Privacy(1, "0.4"))
    even = symmetrise(source)
    assert (even.certificate.epsilon, even.certificate.delta) == (source.certificate.epsilon, source.certificate.delta)
    assert dc.verify(even).holds(1, "0.4")


def test_only_counts_have_another_end():
    with refused(Unsupported, "mechanism"):
        symmetrise(dc.randomized_response(["a", "b"], epsilon=1))
