"""Bits: secure ones differ after a fork, seeded ones are the same everywhere, replayed ones are what was given."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

from discreet.errors import InvalidInput, WrongType
from discreet.exact import bits as module
from discreet.exact.bits import ReplayBits, SecureBits, SeededBits
from support.grids import every_case
from support.refusals import refused


def fork_and_read(draw) -> bytes:
    """What ``draw()`` gives in a forked child."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
        child = os.fork()
    if child == 0:
        try:
            os.write(write, draw())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return data


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@every_case(
    "draw",
    [
        lambda b: b.main(16, np.uint16).tobytes(),
        lambda b: b.extra(4).tobytes(),
        lambda b: b.deep().to_bytes(8, "little") * 4,
        lambda b: b.integer(32).to_bytes(32, "little"),
    ],
    ids=["main", "extra", "deep", "integer"],
)
def test_a_fork_never_repeats_secure_bits(draw):
    secure = SecureBits()
    draw(secure)  # the generator is at work before the fork
    seen = [fork_and_read(lambda: draw(secure)) for _ in range(3)] + [draw(secure)]
    assert all(len(data) == 32 for data in seen)
    assert len(set(seen)) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_the_fork_test_can_fail():
    """A long-lived generator repeats itself: this is what must never be used for a release."""
    seeded = SeededBits(1)
    assert fork_and_read(lambda: seeded.extra(4).tobytes()) == fork_and_read(lambda: seeded.extra(4).tobytes())


def test_secure_bits_have_the_size_and_type_asked_for():
    secure = SecureBits()
    for dtype in (np.uint16, np.uint32, np.uint64):
        words = secure.main(1000, dtype)
        assert words.dtype == dtype and words.shape == (1000,)
        assert len(set(words.tolist())) > 900
    assert secure.extra(0).size == 0
    assert 0 <= secure.deep() < 2**64


def test_without_openssl_the_operating_system_is_asked(monkeypatch):
    monkeypatch.setattr(module, "_random_bytes", os.urandom)
    assert len(set(SecureBits().extra(100).tolist())) == 100


def test_seeded_bits_are_pinned_on_every_platform():
    bits = SeededBits(2024)
    assert bits.main(4, np.uint16).tolist() == [30552, 34297, 26313, 61084]
    assert bits.extra(2).tolist() == [13711086642995174786, 18130301348542284504]
    assert bits.deep() == 17327071539348377158


def test_the_main_stream_is_one_string_of_bytes():
    whole = SeededBits(3).main(96, np.uint16).tobytes()
    bits = SeededBits(3)
    pieces = [bits.main(1, np.uint16), bits.main(3, np.uint64), bits.main(5, np.uint32), bits.main(73, np.uint16)]
    assert b"".join(p.astype(p.dtype.newbyteorder("<")).tobytes() for p in pieces)[:192] == whole[:192]
    assert bits.extra(1)[0] == SeededBits(3).extra(1)[0]  # untouched by what the main stream gave


def test_streams_and_seeds_are_all_different():
    """Also beyond 32 bits: seed 2^32 + 1 must not be another stream of seed 1."""
    seen = set()
    seeds = [0, 1, 2, 2**32, 2**32 + 1, 2**33 + 1, 2**64, 2**64 + 1, 2**200]
    for seed in seeds:
        bits = SeededBits(seed)
        seen |= {int(bits.main(1, np.uint64)[0]), int(bits.extra(1)[0]), bits.deep()}
    assert len(seen) == 3 * len(seeds)


@every_case("bad", [None, True, 1.0, "1", np.float64(1)])
def test_seeds_must_be_integers(bad):
    with refused(WrongType, "seed"):
        SeededBits(bad)


def test_seeds_must_not_be_negative():
    with refused(InvalidInput, "seed", given=-1):
        SeededBits(-1)


def test_replayed_bits_are_what_was_given_and_end():
    bits = ReplayBits(main=b"\x01\x02\x03\x04", extra=bytes(range(8)), deep=bytes(8))
    assert bits.main(1, np.uint16).tolist() == [0x0201]
    assert bits.left == {"main": 2, "extra": 8, "deep": 8}
    assert bits.extra(1).tolist() == [0x0706050403020100]
    assert bits.deep() == 0
    with refused(InvalidInput, token="main ... 2 bytes ... 4"):
        bits.main(2, np.uint16)
    with refused(InvalidInput, token="extra ... 0 bytes"):
        bits.extra(1)
    with refused(InvalidInput, token="deep"):
        bits.deep()
