"""How many requests one address may make. Addresses are kept in memory alone, and only while they ask."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

#: How many seconds' worth of requests an address may make at once.
BURST_SECONDS = 10.0

#: How many addresses are remembered; the one that has not asked for longest is forgotten first.
MOST_ADDRESSES = 20_000


class RateLimit:
    """A bucket of permits for each address, which fills steadily.

    Parameters
    ----------
    per_second
        How fast it fills; 0 for no limit.
    clock
        Seconds, from some moment on.

    Examples
    --------
    >>> limit = RateLimit(0.1, clock=lambda: 0.0)
    >>> limit.wait("a"), limit.wait("a"), limit.wait("b")
    (0.0, 10.0, 0.0)
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = per_second, clock
        self._most = max(1.0, per_second * BURST_SECONDS)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Take a permit; 0 if there was one, otherwise how many seconds it takes until there is one."""
        if self._rate <= 0:
            return 0.0
        now = self._clock()
        permits, since = self._buckets.get(address, (self._most, now))
        permits = min(self._most, permits + (now - since) * self._rate)
        allowed = permits >= 1
        self._buckets[address] = (permits - allowed, now)
        self._buckets.move_to_end(address)
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - permits) / self._rate
