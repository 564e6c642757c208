"""An estimate in words, and quantiles of what is no distribution."""

from __future__ import annotations

import json
import re
from html import unescape

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.describing import pictures, report
from discreet.estimation.statistics import never_falling

WIDE = dc.geometric(30, epsilon="0.2")
COUNTS = np.random.default_rng(12).multinomial(500, WIDE.forward(np.full(31, 1 / 31)))


def test_one_iteration_is_singular() -> None:
    m = dc.geometric(4, epsilon=1)
    once, twice = (dc.estimate([9, 8, 7, 6, 5], m, method="ibu", iterations=k).describe() for k in (1, 2))
    assert ", 1 iteration\n" in once and ", 2 iterations\n" in twice


def test_an_inverse_with_negative_entries_has_no_quantiles_and_says_where_its_intervals_come_from() -> None:
    words = " ".join(str(dc.estimate(COUNTS, WIDE, method="inverse")).split())
    assert len(re.findall(r"(quantile|median) not defined \(negative entries\) \d+ to \d+", words)) == 3
    assert "not from this method" in words and " gap " not in words
    plain = str(dc.estimate(COUNTS, WIDE, method="mle"))
    assert "not defined" not in plain and "not from this method" not in " ".join(plain.split())


def test_quantiles_of_an_inverse_follow_the_closest_cumulative_sums_that_never_fall() -> None:
    e = dc.estimate(COUNTS, WIDE, method="inverse")
    sums = never_falling(e.cdf())
    assert [e.quantile(q) for q in (0.1, 0.5, 0.9)] == [int(np.argmax(sums >= q - 1e-9)) for q in (0.1, 0.5, 0.9)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2, 3], [1, 2, 3]), ([3, 1, 2], [2, 2, 2]), ([1, 4, 2, 5], [1, 3, 3, 5]), ([2, 2, 1, 0], [1.25] * 4)],
)
def test_the_closest_sequence_that_never_falls(values: list[float], expected: list[float]) -> None:
    assert never_falling(np.array(values, float)) == pytest.approx(expected)


def test_the_closest_sequence_is_closer_than_others_that_never_fall() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        values = rng.normal(size=6)
        found = never_falling(values)
        assert (np.diff(found) >= -1e-12).all()
        for _ in range(100):
            other = np.sort(found + 0.3 * rng.normal(size=6))
            assert ((found - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-12


def test_a_variance_has_an_interval_in_the_summary() -> None:
    line = next(line for line in str(dc.estimate(COUNTS, WIDE)).splitlines() if line.startswith("variance"))
    assert " to " in line


def test_a_terminal_and_a_page_say_the_same() -> None:
    """Whatever a terminal shows stands on the page too, word for word."""
    for e in (
        dc.estimate(COUNTS, WIDE, method="smoothed"),
        dc.estimate([([50, 30, 20], dc.randomized_response(3, epsilon=1)), ([9, 9, 9], dc.geometric(2, epsilon=3))]),
    ):
        terminal = e.describe(0.9, width=10_000)
        page = re.sub(r"<style>.*?</style>|<figure[^>]*>.*?</figure>", "", e.report(0.9).page(), flags=re.DOTALL)
        page = unescape(re.sub(r"<[^>]*>", " ", page)).split()
        lines = [re.sub("[░▓█▏▎▍▌▋▊▉]", "", line).split() for line in terminal.splitlines()]
        said = [line[1:] if line[:1] == ["note"] else line for line in lines]
        missing = [line for line in said if " ".join(line) not in " ".join(page)]
        assert lines and not missing


def test_levels_and_quantiles_are_percentages_and_a_smoothed_estimate_says_that_it_is_one() -> None:
    words = dc.estimate(COUNTS, WIDE, method="smoothed").describe(0.9)
    assert "90% interval" in words and "25% quantile" in words and "0.9 " not in words and "0.95" not in words
    assert "Smoothed on purpose: fits the reports slightly less well than the maximum" in words


def test_many_values_show_the_likeliest_with_enough_digits() -> None:
    """A probability that is shown is never shown as zero where all are small."""
    m = dc.two_sided_geometric(epsilon=1)
    e = dc.estimate(reports=np.arange(0, 200_000, 7), mechanism=m, over=dc.Counts(199_999), method="smoothed")
    cells = e.table(most=5)[1]
    assert len(cells) == 5 and all(float(line[1]) > 0 for line in cells)


def test_a_terminal_does_not_wait_for_what_only_pages_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof of local privacy may take long on a large map."""
    asked = []
    monkeypatch.setattr(report, "local_guarantee", lambda mechanism: asked.append(mechanism))
    monkeypatch.setattr(pictures, "draw", lambda *arguments: asked.append(arguments))
    dc.estimate(COUNTS, WIDE).describe()
    assert not asked


@pytest.mark.parametrize("method", ["mle", "inverse"])
def test_numbers_for_programs_are_stamped_and_strict_json(method: str) -> None:
    e = dc.estimate([80, 0, 3, 0, 7], dc.geometric(4, epsilon=1), method=method)
    content = e.to_json(0.9)
    assert (content["format"], content["version"]) == ("discreet estimate", 2)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert [one["statistic"] for one in content["intervals"]] == [
        "mean", "variance", "25% quantile", "median", "75% quantile"
    ]  # fmt: skip


def test_every_part_of_an_estimate_speaks_for_itself() -> None:
    pairs = [([50, 30, 20], dc.randomized_response(3, epsilon=1)), ([10, 20, 70], dc.randomized_response(3, epsilon=3))]
    e = dc.estimate(pairs)
    results = {
        "discreet estimate": e, "discreet stratified": e.stratified, "discreet homogeneity": e.homogeneity(9),
        "discreet fit": e.fit, "discreet interval": e.interval("mean"), "discreet band": e.band(),
    }  # fmt: skip
    for name, result in results.items():
        assert result.to_json()["format"] == name
        assert result.describe().startswith(result.report().title)
        assert result.report().title in unescape(result._repr_html_())
