"""Certificates state what the judge proved, no more and no less."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import NotPrivate
from discreet.exact.kernels import Noise
from discreet.exact.laws import GeometricTails
from discreet.exact.tables import Table
from discreet.privacy.certificate import Certificate, certify
from support.refusals import refused

TABLE = Table.from_rows([[3, 1], [1, 3]])


def test_a_certificate_states_the_tight_ratio():
    c = certify(TABLE, dc.Counts(1))
    assert (c.notion, c.ratio, c.delta, c.tight) == ("central", Fraction(3), 0.0, True)
    assert math.log(3) <= c.epsilon <= math.nextafter(math.log(3), 2)
    assert (
        "e^epsilon = 3 exactly" in str(c) and "every two adjacent values" in str(c) and repr(c) == f"<Certificate: {c}>"
    )


@given(st.lists(st.integers(1, 50), min_size=2, max_size=4), st.lists(st.integers(1, 50), min_size=4, max_size=4))
def test_a_claim_is_held_against_the_numbers(first, second):
    table = Table.from_rows([first, second[: len(first)]])
    tight = dc.verify(table).ratio
    assert certify(table, dc.Counts(1), ratio=tight).ratio == tight
    if tight > 1:
        with refused(NotPrivate, token="ratio ... a true count"):
            certify(table, dc.Counts(1), ratio=tight - Fraction(1, 10**30))
        low, high = dc.verify(table).evidence.epsilon_bounds()
        assert certify(table, dc.Counts(1), epsilon=high)
        with refused(NotPrivate, token="least epsilon"):
            certify(table, dc.Counts(1), epsilon=low)


def test_a_claim_with_delta_is_stated_as_claimed():
    exact = dc.verify(TABLE).evidence.delta_bounds(Fraction(1, 2))[0][1]
    c = certify(TABLE, dc.Counts(1), epsilon=Fraction(1, 2), delta=exact)
    assert c.epsilon == 0.5 and Fraction(c.delta) >= exact and not c.tight and c.ratio is None
    assert "delta = " in str(c)
    with refused(NotPrivate, token="epsilon = 0.5 ... delta = "):
        certify(TABLE, dc.Counts(1), epsilon=Fraction(1, 2), delta=exact - Fraction(1, 10**30))


def test_an_infinite_epsilon_is_said_openly():
    c = certify(Table.from_rows([[1, 0], [1, 1]]), dc.Counts(1))
    assert c.epsilon == math.inf and c.ratio is None
    assert "no finite epsilon" in str(c) and json.loads(json.dumps(c.to_json()))["epsilon"] == "infinity"
    with refused(NotPrivate, token="infinity ... never"):
        certify(Table.from_rows([[1, 0], [1, 1]]), dc.Counts(1), epsilon=Fraction(10))
    with refused(NotPrivate, token="infinity"):
        certify(Table.from_rows([[1, 0], [1, 1]]), dc.Counts(1), ratio=Fraction(10))


def test_the_notion_is_part_of_the_certificate():
    table = dc.geometric(4, alpha="1/2").kernel.table()
    ratios = {notion: certify(table, dc.Counts(4), notion).ratio for notion in ("central", "metric", "local")}
    assert ratios == {"central": 2, "metric": 2, "local": 2**4}
    assert "between any two truths" in str(certify(table, dc.Counts(4), "local"))
    assert "per unit of distance" in str(certify(table, dc.Counts(4), "metric"))


def test_on_a_map_no_single_ratio_says_it_all():
    grid = dc.Grid(2, 3, cell=50.0)
    m = dc.planar_geometric(grid, epsilon=0.01)
    assert m.certificate.ratio is None and m.certificate.epsilon <= 0.01
    assert certify(dc.randomized_response(grid, epsilon=1).kernel, grid, "metric").ratio is None


def test_wide_ranges_are_certified_locally_without_writing_out_the_ratio():
    kernel = Noise(GeometricTails.two_sided(Fraction(1, 3)), (0, 10**6), (0, 10**6))
    c = certify(kernel, dc.Counts(10**6), "local")
    assert c.ratio is None and c.epsilon == pytest.approx(10**6 * math.log(3), rel=1e-5)


def test_ratios_of_thousands_of_digits_are_shown_and_described():
    c = certify(Table.from_rows([[1, 10**5000], [10**5000, 1]]), dc.Counts(1))
    assert c.ratio == 10**5000
    assert len(str(c)) < 300 and c.to_json()["ratio"] is None
    with refused(NotPrivate, token="about 1e"):
        certify(Table.from_rows([[1, 10**5000], [10**5000, 1]]), dc.Counts(1), ratio=Fraction(10))


def test_certificates_are_values():
    assert certify(TABLE, dc.Counts(1)) == certify(TABLE, dc.Counts(1))
    c = certify(TABLE, dc.Counts(1))
    with pytest.raises(AttributeError):
        c.epsilon = 0.1
    assert isinstance(c, Certificate)
