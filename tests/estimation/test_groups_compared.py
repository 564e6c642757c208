"""Groups of people: each estimated on its own, compared by intervals, and winners ranked."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.describing.summary import distribution_lines, likeliest
from support.command_line import run
from support.refusals import Parts, refused

YES_NO = dc.randomized_response(["no", "yes"], epsilon=1)
NOISE = dc.geometric(20, epsilon="0.5")


def two_groups(seed: int = 1, people: int = 1500) -> dc.GroupEstimates:
    rng = np.random.default_rng(seed)
    truths = {"women": rng.binomial(20, 0.4, people), "men": rng.binomial(20, 0.3, people // 2)}
    return dc.estimate_by({name: _counts(NOISE, x, seed) for name, x in truths.items()}, NOISE, column="sex")


def _counts(mechanism: dc.Mechanism, truths: np.ndarray, seed: int) -> np.ndarray:
    return np.bincount(mechanism.simulate(truths, seed=seed), minlength=21)


# ------------------------------------------------------------------------------------------------ differences


@pytest.mark.parametrize("statistic", ["mean", ("quantile", 0.5), ("range", 3, 6), ("cell", 5), np.arange(21.0) ** 2])
def test_a_difference_follows_from_both_intervals(statistic: object) -> None:
    """By the formula: each end lies off by the root of the squares of two arms."""
    both = two_groups()
    women, men = (both[name].interval(statistic, 0.9) for name in ("women", "men"))
    found = both.difference("women", "men", statistic, 0.9)
    gap = women.estimate - men.estimate
    assert found.low == pytest.approx(gap - math.hypot(women.estimate - women.low, men.high - men.estimate))
    assert found.high == pytest.approx(gap + math.hypot(women.high - women.estimate, men.estimate - men.low))
    back = both.difference("men", "women", statistic, 0.9)
    assert (back.low, back.high, back.value) == pytest.approx((-found.high, -found.low, -found.value))


def covered(shrunk: float, surveys: int = 300) -> float:
    """How often the interval, shrunk to a part of its length, contains the true difference of shares."""
    hits = 0
    for seed in range(surveys):
        rng = np.random.default_rng(seed)
        counts = [rng.multinomial(n, YES_NO.forward(np.array([1 - p, p]))) for n, p in ((600, 0.3), (200, 0.45))]
        both = dc.estimate_by({"a": counts[0], "b": counts[1]}, YES_NO)
        found = both.difference("b", "a", ("cell", "yes"))
        middle, half = (found.low + found.high) / 2, shrunk * (found.high - found.low) / 2
        hits += abs(0.15 - middle) <= half
    return hits / surveys


def test_differences_are_covered_as_often_as_is_said() -> None:
    assert covered(1) >= 0.92 and covered(0.6) < 0.88  # the second is the control


def test_that_groups_differ_is_a_finding_and_no_misfit() -> None:
    both = two_groups()
    words = " ".join(both.describe().split())
    assert "The groups differ (p = 0.01, 99 simulations)." in words and "DO NOT FIT" not in words
    assert "column sex is in clear" in words
    mixed = dc.estimate([([700, 300], YES_NO), ([300, 700], dc.randomized_response(["no", "yes"], epsilon=2))])
    assert mixed.fit.plausible and mixed.homogeneity(99).differ
    alike = dc.estimate_by({"a": [60, 40], "b": [58, 42]}, YES_NO)
    assert "No evidence that the groups differ" in alike.describe()


def test_reports_that_do_not_fit_are_still_told() -> None:
    """Control: reports of one group that this mechanism cannot have made."""
    wrong = dc.estimate_by(
        {"a": [0, 0, 900, 0, 0], "b": [200, 200, 200, 200, 200]}, dc.randomized_response(5, epsilon=1)
    )
    assert "THE REPORTS DO NOT FIT" in wrong.describe() and "Group a:" in wrong.describe()


def test_the_largest_group_is_what_others_are_compared_with() -> None:
    both = two_groups()
    assert both.largest == "women" and {one.second for one in both.differences()} == {"women"}
    assert both.people == 2250 and both["men"].people == 750


def test_raw_reports_and_their_groups_are_counted() -> None:
    reports, by = ["yes", "no", "yes", "no"], np.array(["m", "w", "m", "w"])
    both = dc.estimate_by(reports=reports, by=by, mechanism=YES_NO)
    assert [both[name].people for name in ("m", "w")] == [2, 2] and both["m"].distribution[1] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"counts": {"a": [3, 4]}}, Parts(argument="counts", token="two groups")),
        ({"reports": ["yes", "no"], "by": ["a"]}, Parts(argument="by", given="1 for 2")),
        ({"reports": ["yes", "no"], "by": ["a", None]}, Parts(argument="by", token="missing groups")),
        ({"reports": ["yes", "no"]}, Parts(argument="reports", token="give counts")),
        ({"counts": {"a": [3, 4], "b": [1, 2]}, "by": ["a"]}, Parts(argument="reports", token="go without counts")),
        ({"counts": [[3, 4], [1, 2]]}, Parts(argument="counts", given=[[3, 4], [1, 2]])),
        ({"counts": {"a": [3, 4], "b": [1, 2]}, "method": "inverse"}, Parts(argument="method", given="inverse")),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: dict[str, object], words: Parts) -> None:
    with refused(dc.errors.InvalidInput, **words):
        dc.estimate_by(mechanism=YES_NO, **arguments)


def test_a_difference_is_between_two_known_groups() -> None:
    both = two_groups()
    with refused(dc.errors.InvalidInput, "name"):
        both.difference("women", "children")
    with refused(dc.errors.InvalidInput, "second"):
        both.difference("men", "men")


# ------------------------------------------------------------------------------------------------ the command line


def test_people_are_perturbed_and_compared_by_a_column_in_clear(tmp_path: Path) -> None:
    NOISE.save(tmp_path / "m.json")
    rng = np.random.default_rng(1)
    rows = [f"{x},{'w' if k % 3 else 'm'}" for k, x in enumerate(rng.binomial(20, 0.4, 900))]
    (tmp_path / "people.csv").write_text("visits,sex\n" + "\n".join(rows) + "\n", encoding="utf-8")
    command = ("perturb", "visits", "--data", tmp_path / "people.csv", "--mechanism", tmp_path / "m.json")
    told = run(*command, "--by", "sex", "-o", tmp_path / "r.csv").stdout
    assert "is not protected" in told
    assert (tmp_path / "r.csv").read_text(encoding="utf-8").startswith("sex,report\n")
    again = ("estimate", tmp_path / "r.csv", "--mechanism", tmp_path / "m.json", "--by", "sex")
    told = run(*again, "--page", tmp_path / "p.html", "--report", tmp_path / "p.png").stdout
    assert "Differences from w" in told and "<svg" in (tmp_path / "p.html").read_text(encoding="utf-8")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads(run(*again, "--json").stdout)
    assert [group["people"] for group in content["groups"]] == [300, 600] and content["column"] == "sex"


@pytest.mark.parametrize(
    ("sexes", "words"),
    [(["w", ""], "have nothing in column 'sex'"), ([f"g{k}" for k in range(60)], "more than 50 groups")],
)
def test_a_column_that_names_no_groups_is_refused(sexes: list[str], words: str, tmp_path: Path) -> None:
    NOISE.save(tmp_path / "m.json")
    text = "sex,report\n" + "".join(f"{sex},3\n" for sex in sexes)
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    told = run(
        "estimate",
        tmp_path / "r.csv",
        "--mechanism",
        tmp_path / "m.json",
        "--column",
        "report",
        "--by",
        "sex",
        code=2,
    )
    assert words in " ".join(told.stderr.split())


# ------------------------------------------------------------------------------------------------ winners


def test_winners_are_sorted_and_their_places_are_what_the_intervals_leave() -> None:
    labels = [f"town {k}" for k in range(30)]
    m = dc.randomized_response(labels, epsilon=3)
    shares = 1 / np.arange(1, 31)
    counts = np.random.default_rng(1).multinomial(4000, m.forward(shares / shares.sum()))
    e = dc.estimate(counts, m)
    lines = likeliest(e, 12, 0.95)
    assert [one.probability for one in lines] == sorted((one.probability for one in lines), reverse=True)
    band = e.band(0.95, simultaneous=True, of="cells")
    for one in lines:
        k = labels.index(one.value)
        surely_above = sum(band.low[j] > band.high[k] for j in range(30))
        perhaps_above = sum(band.high[j] > band.low[k] for j in range(30) if j != k)
        assert one.place == (1 + surely_above, 1 + perhaps_above)
    assert lines[0].place == (1, 1) and lines[5].place[1] > 6
    words = " ".join(e.describe(most=12).split())
    assert "The likeliest first." in words and "hold for all values at once" in words


def test_labels_are_never_put_together_and_counts_are_in_their_order() -> None:
    labels = [f"town {k}" for k in range(120)]
    m = dc.projective_response(labels, epsilon=2)
    e = dc.estimate(reports=m.simulate(labels * 5, seed=1), mechanism=m)
    assert all(one.first == one.last for one in distribution_lines(e, 20, 0.95))
    shown = [row["value"] for row in e.plot().spec["data"]["values"]]
    assert len(shown) == 60 and set(shown) <= set(labels)
    counts = dc.estimate(reports=[3] * 50, mechanism=dc.geometric(120, epsilon=1))
    lines = distribution_lines(counts, 20, 0.95)
    assert len(lines) <= 20 and [one.first for one in lines] == sorted(one.first for one in lines)
    assert sum(one.last - one.first + 1 for one in lines) == 121
    assert sum(one.probability for one in lines) == pytest.approx(1)


def test_the_cards_of_a_page_are_mean_spread_median_reports_and_privacy() -> None:
    facts = [fact.meaning for fact in two_groups()["women"].report().facts]
    beginnings = ["the mean true count", "the spread", "the median true count", "reports", "the privacy loss"]
    assert [any(fact.startswith(one) for fact in facts) for one in beginnings] == [True] * 5 and len(facts) == 5
