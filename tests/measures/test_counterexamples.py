"""Counterexamples that were once true, kept so that they stay refused."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from types import SimpleNamespace

import pytest

import discreet as dc
from discreet.errors import InvalidInput
from discreet.exact.kernels import Noise
from discreet.exact.lattice import Lattice
from discreet.exact.laws import Finite, Gaussian
from discreet.exact.rationals import text_up
from discreet.explanation import explain
from discreet.mechanism import fingerprint
from support.grids import every_case
from support.refusals import refused


def test_own_laws_beside_the_gaussian_are_refused() -> None:
    """The judge of the Gaussian looks at the shared law only."""
    with refused(InvalidInput, "first_laws"):
        Noise(Gaussian(Fraction(100)), (0, None), (None, None), first_laws=(Finite(0, [1]),))


@every_case("space", [dc.Counts(99), dc.Labels(range(100)), dc.Grid(10, 10), dc.Grid(4, 1)], ids=repr)
@every_case("notion", [None, "local"])
def test_a_lattice_is_judged_for_its_own_map_only(space: object, notion: str | None) -> None:
    kernel = Lattice.from_weights([[100, 99], [99, 98]], "remap")
    with refused(InvalidInput, "inputs"):
        dc.verify(SimpleNamespace(kernel=kernel, inputs=space, outputs=dc.Counts(3)), notion)


def test_a_forged_file_with_a_lattice_for_other_truths_is_refused(tmp_path) -> None:
    path = tmp_path / "m.json"
    dc.from_matrix([[0.5, 0.5], [0.4, 0.6]]).save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["kernel"] = Lattice.from_weights([[100, 99], [99, 98]], "remap").to_json()
    content["inputs"], content["outputs"] = dc.Counts(99).to_json(), dc.Counts(3).to_json()
    content["certificate"] |= {"notion": "local", "epsilon": 1.5, "ratio": None}
    content["sha256"] = fingerprint(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InvalidInput):
        dc.load(path)


def test_groups_of_people_share_delta_by_the_group_bound() -> None:
    """delta (1 + e^eps + ... ): keeping delta as it is would understate it."""
    certificate = dc.Certificate("central", 1.0, 0.01, None, "by hand")
    assert explain(certificate, people=3).delta == pytest.approx(0.01 * (1 + 2.718281828 + 7.389056099), rel=1e-9)
    assert explain(certificate, people=30).delta == 1.0


def test_a_certificate_with_delta_holds_as_it_reads() -> None:
    least = Fraction(int(Fraction(1, 10) * 2**62) + 1, 2**62)  # just above 1/10
    m = dc.from_matrix([[least, 1 - least], [0, 1]], dc.Privacy(1, least))
    assert dc.verify(m).holds(m.certificate.epsilon, m.certificate.delta)
    assert Fraction(text_up(m.certificate.delta)) >= least


def test_a_mechanism_cannot_be_changed_after_it_was_proved() -> None:
    m = dc.geometric(10, alpha="1/2")
    with pytest.raises(TypeError):
        m.parameters["alpha"] = "9/10"  # type: ignore[index]
    place = dc.planar_geometric(dc.Grid(2, 2), epsilon=1)
    with pytest.raises(ValueError, match="read-only"):
        place.kernel.weights[0, 0] = 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("epsilon", ["1", "1e-4"])
def test_a_mechanism_can_be_sent_elsewhere_after_use(epsilon: str) -> None:
    m = dc.two_sided_geometric(epsilon=epsilon)
    m.release(3)
    again = pickle.loads(pickle.dumps(m))
    assert again.simulate([3] * 9, seed=1).tolist() == m.simulate([3] * 9, seed=1).tolist()


def test_a_clamped_gaussian_can_be_explained() -> None:
    assert "there epsilon is larger" in str(explain(dc.discrete_gaussian(sigma2=4).on(dc.Counts(20))))


def test_numbers_too_long_to_write_out_are_refused() -> None:
    with refused(InvalidInput, "epsilon", given="one with an exponent beyond 10000"):
        dc.geometric(5, epsilon="1e-9999999999")
