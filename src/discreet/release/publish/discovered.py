"""What is said of counts whose groups were found in the data, and which were therefore selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...exact.rationals import text_up
from ...wording import percent
from ..noise.discovered import DiscoveredNoise

if TYPE_CHECKING:
    from .tables import ReleasedTable


def named_counts_in_words(table: ReleasedTable) -> str:
    """What is known of the error of counts that were selected."""
    noise = table.plan.noise
    assert isinstance(noise, DiscoveredNoise)
    if not table.counts.size:
        return f"No group has a noisy count above {noise.reach:,}, so none is named."
    expected = noise.expected(table.level)
    return (
        f"The noise of a count has a standard deviation of at most {text_up(expected.sd, 3)} and never exceeds "
        f"{noise.reach:,}. Only counts above {noise.reach:,} are published: those of groups of fewer than "
        f"{2 * noise.reach + 1:,} are too high on average, by up to {noise.reach:,}; all others are unbiased. Each "
        f"interval contains the true count of a group that is named at least {percent(table.level, 6)} of the time."
    )
