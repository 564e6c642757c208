"""Speed of composing many releases, against dp-accounting on the same Gaussians."""

from __future__ import annotations

from collections.abc import Iterator

from dp_accounting.pld import privacy_loss_distribution as peer

import discreet as dc
import measure
from measure import FULL, Line, Scale


def lines(scale: Scale = FULL) -> Iterator[Line]:
    times = scale.pick(1000, 20)
    noise = dc.discrete_gaussian(sigma2=100)

    def theirs() -> float:
        one = peer.from_discrete_gaussian_mechanism(10.0)
        return float(one.self_compose(times).get_epsilon_for_delta(1e-6))

    ours, other = measure.in_turn(lambda: dc.compose([(noise, times)]).epsilon(1e-6), theirs, rounds=3)
    peer_text = f"dp-accounting {other:.3g} s"
    yield measure.at_most(f"compose {times} discrete Gaussians", f"{ours:.3g} s", peer_text, ours / other, 2 / other)
    releases = [dc.geometric(100, epsilon="0.05")] * times
    took = measure.seconds(lambda: dc.compose(releases).epsilon(1e-6))
    yield measure.at_most(f"compose {times} geometric releases", f"{took:.3g} s", peer_text, took / other, 2 / other)
