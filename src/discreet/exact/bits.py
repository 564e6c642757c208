"""Sources of random bits.

Every sampler reads three streams. The *main* stream gives each draw its first few bits, in order; the *extra* stream
gives 64 more to the few draws that need them, again in order; the *deep* stream serves draws that these do not decide.
Because the streams never mix, the results of seeded bits do not depend on the size of chunks.

- :class:`SecureBits` asks OpenSSL's generator where Python has it (it notices a fork and starts afresh), else the
  operating system's. It buffers nothing itself, so a fork cannot repeat its bytes. Releases use nothing else.
- :class:`SeededBits` is reproducible, for experiments. Never for releases.
- :class:`ReplayBits` plays back given bytes, for tests.
"""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput, WrongType
from .arrays import Array

try:
    from ssl import RAND_bytes as _random_bytes
except ImportError:  # pragma: no cover - a Python built without OpenSSL
    _random_bytes = os.urandom

Words = Array


class Bits(Protocol):
    """A source of uniform random bits."""

    def main(self, size: int, dtype: type[np.unsignedinteger[Any]]) -> Words:
        """Return the next ``size`` words of the main stream."""

    def extra(self, size: int) -> NDArray[np.uint64]:
        """Return the next ``size`` 64-bit words of the extra stream."""

    def deep(self) -> int:
        """Return the next 64-bit word of the deep stream."""

    def part(self, number: int) -> Bits:
        """Return the bits for one of several parallel draws, independent of those for the others."""


def _words(data: bytes, dtype: type[np.unsignedinteger[Any]]) -> Words:
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype, copy=False)


class SecureBits:
    """Cryptographically secure bits. Nothing is kept between calls, hence safe across forks and threads."""

    def main(self, size: int, dtype: type[np.unsignedinteger[Any]]) -> Words:
        return np.frombuffer(_random_bytes(size * np.dtype(dtype).itemsize), dtype)

    def extra(self, size: int) -> NDArray[np.uint64]:
        return np.frombuffer(_random_bytes(size * 8), np.uint64)

    def deep(self) -> int:
        return self.integer(8)

    def part(self, number: int) -> SecureBits:
        return self

    @staticmethod
    def integer(size: int) -> int:
        """Return one integer of ``size`` bytes: the fast way for a single draw."""
        return int.from_bytes(_random_bytes(size), "little")


class _Stream:
    """Philox output as an endless string of bytes, the same on every machine."""

    def __init__(self, seed: int, *path: int) -> None:
        self._generator = np.random.Philox(seed=np.random.SeedSequence(seed, spawn_key=path))
        self._left = b""

    def take(self, size: int) -> bytes:
        missing = size - len(self._left)
        if missing > 0:
            raw: NDArray[np.uint64] = self._generator.random_raw((missing + 7) // 8)
            self._left += raw.astype("<u8", copy=False).tobytes()
        data, self._left = self._left[:size], self._left[size:]
        return data


class SeededBits:
    """Reproducible bits for experiments: the same seed gives the same results on every machine and chunk size."""

    def __init__(self, seed: int, path: tuple[int, ...] = ()) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise WrongType.must_be("seed", "an integer", seed)
        if seed < 0:
            raise InvalidInput.must_be("seed", "0 or more", seed)
        self._seed, self._place = int(seed), path
        self._parts: dict[int, SeededBits] = {}
        self._main, self._extra, self._deep = (_Stream(int(seed), *path, stream) for stream in range(3))

    def main(self, size: int, dtype: type[np.unsignedinteger[Any]]) -> Words:
        return _words(self._main.take(size * np.dtype(dtype).itemsize), dtype)

    def extra(self, size: int) -> NDArray[np.uint64]:
        return _words(self._extra.take(size * 8), np.uint64)

    def deep(self) -> int:
        return int.from_bytes(self._deep.take(8), "little")

    def part(self, number: int) -> SeededBits:
        """Return the stream of a part, so that results do not depend on the number of draws at a time."""
        if number not in self._parts:
            self._parts[number] = SeededBits(self._seed, (*self._place, 3 + number))
        return self._parts[number]


def seeded_bits(seed: int | np.random.Generator) -> SeededBits:
    """Return reproducible bits from a seed, or from the next number of a generator of NumPy.

    >>> generator = np.random.default_rng(1)
    >>> seeded_bits(generator).deep() == seeded_bits(generator).deep()
    False
    """
    if isinstance(seed, np.random.Generator):
        return SeededBits(int(seed.integers(2**63)))
    return SeededBits(seed)


class ReplayBits:
    """Given bytes, played back; reading past the end is an error. For tests."""

    def __init__(self, main: bytes = b"", extra: bytes = b"", deep: bytes = b"") -> None:
        self._streams = {"main": main, "extra": extra, "deep": deep}

    def _take(self, stream: str, size: int) -> bytes:
        data = self._streams[stream]
        if size > len(data):
            raise InvalidInput(
                f"the replayed {stream} stream has {len(data)} bytes left; {size} were asked for.", "Give a longer one."
            )
        self._streams[stream] = data[size:]
        return data[:size]

    def main(self, size: int, dtype: type[np.unsignedinteger[Any]]) -> Words:
        return _words(self._take("main", size * np.dtype(dtype).itemsize), dtype)

    def extra(self, size: int) -> NDArray[np.uint64]:
        return _words(self._take("extra", size * 8), np.uint64)

    def deep(self) -> int:
        return int.from_bytes(self._take("deep", 8), "little")

    def part(self, number: int) -> ReplayBits:
        return self

    @property
    def left(self) -> dict[str, int]:
        """The number of unread bytes of each stream."""
        return {stream: len(data) for stream, data in self._streams.items()}
