"""dc.projective_response: which prime it takes, what it refuses, when it is better, and labels from files."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInput, Unsupported
from discreet.exact.projective import MAX_POINTS, is_prime, points_of
from support.command_line import run
from support.grids import every_case
from support.refusals import Parts, refused


@every_case("size", [2, 10, 300, 5000])
@every_case("alpha", ["99/100", "1/3", "1/8", "1/55", "1/100000"])
def test_no_prime_has_less_variance_than_the_one_that_is_taken(size: int, alpha: str) -> None:
    """All primes up to where two coordinates do: beyond, the variance only grows."""
    chosen = dc.share_variance(dc.projective_response(size, alpha=alpha))
    primes = [q for q in range(2, max(size, 70) + 20) if is_prime(q)]
    fitting = [q for q in primes if any(size <= points_of(q, t) <= MAX_POINTS for t in range(2, 25))]
    assert chosen == min(dc.share_variance(dc.projective_response(size, alpha=alpha, q=q)) for q in fitting)


@every_case(("size", "epsilon", "better"), [
    (10, 2, "randomized_response"), (2, 1, "randomized_response"), (100, 1, "projective_response"),
    (500, 1, "projective_response"), (10**6, 4, "projective_response"), (10**7, 1, "randomized_response"),
])  # fmt: skip
def test_the_better_response_is_the_one_with_less_variance(size: int, epsilon: float, better: str) -> None:
    """k-RR wins at k = 10, epsilon = 2 (0.38), and where projective response takes no so many values."""
    m = dc.response(size, epsilon=epsilon)
    e = math.exp(epsilon)
    assert m.family == better
    assert dc.share_variance(dc.randomized_response(size, epsilon=epsilon)) == pytest.approx(
        (size - 2 + e) / (e - 1) ** 2, rel=1e-9
    )
    if better == "projective_response":
        assert dc.share_variance(m) < (size - 2 + e) / (e - 1) ** 2


def test_with_two_coordinates_and_all_points_it_is_randomised_response() -> None:
    points, plain = dc.projective_response(8, alpha="1/5", q=7), dc.randomized_response(8, alpha="1/5")
    assert dc.share_variance(points) == dc.share_variance(plain)
    assert sorted(map(tuple, points.matrix.T)) == sorted(map(tuple, plain.matrix.T))


@pytest.mark.parametrize("size", [4, 100, 10**6])
def test_two_is_hadamard_response(size: int) -> None:
    kernel = dc.projective_response(size, alpha="1/3", q=2).kernel
    assert kernel.points + 1 == 2**kernel.t > size >= 2 ** (kernel.t - 1)
    assert dc.share_variance(dc.projective_response(10**6, alpha="1/3", q=2)) == pytest.approx(4, rel=1e-5)


@every_case(
    ("arguments", "words"),
    [
        ({"space": 10, "epsilon": 1, "q": 4}, Parts(argument="q", token="prime")),
        ({"space": 10, "epsilon": 1, "q": 2.0}, Parts(argument="q", token="prime")),
        ({"space": 1, "epsilon": 1}, Parts(argument="space", given=1)),
        ({"space": 10}, Parts(argument="epsilon", token="exactly one")),
        ({"space": 10**6, "epsilon": 1, "q": 65537}, Parts(argument="q", token="smaller prime")),
        ({"space": "abc", "epsilon": 1}, Parts(argument="space", given="abc")),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, object], words: Parts) -> None:
    with refused(InvalidInput, **words):
        dc.projective_response(**arguments)


def test_too_many_values_are_refused() -> None:
    with refused(Unsupported, "space"):
        dc.projective_response(10**7, epsilon=1)
    with refused(Unsupported, "mechanism"):
        dc.share_variance(dc.geometric(4, epsilon=1))


def test_the_claimed_epsilon_is_not_exceeded_by_rounding() -> None:
    m = dc.projective_response(1000, epsilon=1)
    assert isinstance(m.certificate.ratio, Fraction) and m.certificate.ratio <= Fraction(math.e)


def test_labels_of_a_file_go_through_reports_to_shares(tmp_path: Path) -> None:
    words = [f"word {k}" for k in range(300)]
    labels, mechanism, reports = tmp_path / "words.txt", tmp_path / "m.json", tmp_path / "reports.csv"
    labels.write_text("\ufeff" + "\r\n".join(words) + "\r\n", encoding="utf-8")
    run("design", "--family", "projective-response", "--labels", f"@{labels}", "--epsilon", 2, "-o", mechanism)
    m = dc.load(mechanism)
    assert m.inputs == dc.Labels(words) and m == dc.projective_response(words, epsilon=2)
    truths = np.random.default_rng(1).choice([0, 5, 299], 4000, p=[0.5, 0.3, 0.2])
    people = tmp_path / "people.csv"
    people.write_text("word\n" + "".join(f"{words[k]}\n" for k in truths), encoding="utf-8")
    run("perturb", "word", "--data", people, "--mechanism", mechanism, "-o", reports)
    found = json.loads(run("estimate", reports, "--mechanism", mechanism, "--json", "--level", 0.95).stdout)
    shares = dict(zip(found["values"], found["distribution"], strict=True))
    assert shares["word 0"] == pytest.approx(0.5, abs=0.08) and shares["word 299"] == pytest.approx(0.2, abs=0.08)
    assert found["intervals"][0]["statistic"] == "P(word 0)" and "unbiased" in found["notes"][1]


@pytest.mark.parametrize(("content", "words"), [
    (b"a\n\nb\n", "line 2 is empty"), (b"\xff\xfe", "not UTF-8"), (None, "No such file"),
    (b"a\nb\na\n", "'a' is given twice"),
])  # fmt: skip
def test_files_that_are_no_labels_are_refused(content: bytes | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "labels.txt"
    if content is not None:
        file.write_bytes(content)
    done = run("design", "--family", "projective-response", "--labels", f"@{file}", "--epsilon", 1, code=2)
    assert words in done.stderr + done.stdout
