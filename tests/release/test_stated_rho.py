"""What noise costs in rho is worked out from the noise, never believed of a file."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import discreet as dc
from discreet.files import rebuild
from discreet.mechanism import fingerprint
from discreet.release.plan.planning import plan_release
from support.proposals import proposed


def stated(mechanism: dc.Mechanism, rho: str) -> dc.Mechanism:
    """The same mechanism from a file that states a rho of its own."""
    content = json.loads(json.dumps(mechanism.to_json()))
    content["certificate"]["details"]["zcdp_rho"] = rho
    content["sha256"] = fingerprint(content)
    return rebuild(content, "a file")


def test_the_rho_that_a_file_states_is_not_believed(tmp_path: Path) -> None:
    """A ledger that adds up rho could be overspent by a mechanism file with a small made-up one."""
    honest = dc.from_matrix([["0.9", "0.1"], ["0.1", "0.9"]])
    lying = stated(honest, "1/1000000000")
    assert "zcdp_rho" not in lying.certificate.details
    costs = [
        plan_release("SELECT COUNT(*) FROM visits", data="visits", unit="person", mechanism=one, epsilon=3).cost
        for one in (honest, lying)
    ]
    assert costs[0] == costs[1]
    assert costs[1].rho is not None and costs[1].rho >= Fraction(24, 10)  # log(9)^2/2 = 2.4139


def test_the_rho_of_gaussian_noise_is_that_of_its_sigma2() -> None:
    plan = proposed(mechanism=dc.discrete_gaussian(sigma2=10), epsilon=None, delta="1e-6", max_groups=2)
    assert plan.cost.rho == 2 * Fraction(1, 20)
