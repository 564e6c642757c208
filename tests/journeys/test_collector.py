"""A collector learns how a sensitive answer is distributed, and never holds a true one."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, pvariance

import pytest

import discreet as dc
from discreet.collect import Client, Collector
from support.command_line import run
from support.journeys import SECRET_PERSON, assert_secret_stays, run_json
from support.running_service import RunningService

#: Coverage of the intervals: fewer than one run in a million misses the truth.
SURE = 0.999999


def test_files_of_true_values_become_reports_and_an_estimate_with_error_bars(tmp_path: Path) -> None:
    # A clinic has everyone's number of visits and hands out reports only, as each person's device would make them.
    chance = random.Random(1)
    truths = [sum(chance.random() < 0.3 for _ in range(20)) for _ in range(4000)]
    people, mechanism, reports = tmp_path / "people.csv", tmp_path / "visits.json", tmp_path / "reports.csv"
    people.write_text("person,visits\n" + "".join(f"p{k},{visits}\n" for k, visits in enumerate(truths)))
    run("design", "--family", "geometric", "-n", 20, "--epsilon", 0.5, "-o", mechanism)

    # The noise is stated for a number nearby, and for any two numbers.
    summary = run_json("perturb", "visits", "--data", people, "--mechanism", mechanism, "-o", reports)
    assert summary["reports"] == 4000
    assert summary["epsilon_between_any_two_values"] == pytest.approx(10)
    with open(reports, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {tuple(row) for row in rows} == {("report",)}  # neither the names nor the true values went along
    values = [int(row["report"]) for row in rows]
    assert len(values) == 4000 and sum(map(int.__ne__, values, truths)) > 2000

    # The statistician has the reports and the mechanism, and gets the distribution back, with error bars.
    estimate = run_json("estimate", reports, "--mechanism", mechanism, "--level", SURE)
    intervals = {one["statistic"]: one for one in estimate["intervals"]}
    mean, variance = fmean(truths), pvariance(truths)
    assert estimate["people"] == 4000 and sum(estimate["distribution"]) == pytest.approx(1)
    assert intervals["mean"]["low"] < mean < intervals["mean"]["high"] and abs(estimate["mean"] - mean) < 0.5
    # The noise is taken out again: reports vary far more than the numbers behind them.
    assert intervals["variance"]["low"] < variance < intervals["variance"]["high"] < pvariance(values)

    # In Python the same reports give the same estimate, and any other figure with its interval.
    e = dc.estimate(Counter(values), dc.load(mechanism))
    assert e.mean() == pytest.approx(estimate["mean"])
    few = e.interval(("range", 0, 5), level=SURE)
    assert few.low < sum(truth <= 5 for truth in truths) / 4000 < few.high


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    """A service in a process, with nothing in it but the collector's token, which is in ``token.txt``."""
    token = run_json("collect", "token", tmp_path / "reports.db")["token"]
    (tmp_path / "token.txt").write_text(token)
    running = RunningService(str(tmp_path / "reports.db"), tmp_path / "service.log", ("--rate", "0"))
    running.start()
    yield running
    running.stop()


def test_devices_report_to_a_service_that_estimates_with_error_bars(service: RunningService, tmp_path: Path) -> None:
    # The collector has a token, and makes a mechanism and a collection.
    address, token = f"http://127.0.0.1:{service.port}", tmp_path / "token.txt"
    run("design", "--family", "randomized-response", "--labels", "yes,no", "--epsilon", 2, "-o", tmp_path / "m.json")
    at_service = ("--service", address, "--token-file", token)
    run(
        "collect", "create", "smoking", "--mechanism", tmp_path / "m.json", "--question", "Do you smoke?",
        "--minimum-reports", 1000, *at_service,
    )  # fmt: skip

    # A person's device proves the mechanism again, says what it costs, and sends one report, however often it is asked.
    me, client = SECRET_PERSON[0], Client(address, tmp_path / "device.diary", maximum=3)
    offer = client.offer("smoking", person=me, about="smoking")
    assert offer.epsilon == pytest.approx(2)
    assert client.report(offer, "no", consent=True) == "counted"
    again = client.offer("smoking", person=me, about="smoking")
    assert client.report(again, "yes", consent=True) == "counted before"
    assert client.spent(me, "smoking") == pytest.approx(2)
    # Taking part in another collection about the same matter would cost more than this person allows.
    run(
        "collect", "create", "smoking-2", "--mechanism", tmp_path / "m.json", "--question", "Do you smoke?",
        "--minimum-reports", 10, *at_service,
    )  # fmt: skip
    with pytest.raises(dc.errors.BudgetExceeded):
        client.report(client.offer("smoking-2", person=me, about="smoking"), "no", consent=True)

    # One report says next to nothing: there is no estimate yet.
    collector = Collector(address, token.read_text())
    with pytest.raises(dc.errors.InvalidInput):
        collector.estimate("smoking")

    # Other people's devices send theirs: 30% of 3000 smoke.
    truths = ["yes"] * 900 + ["no"] * 2100
    reports = dc.perturb(dc.load(tmp_path / "m.json"), truths)
    for start in range(0, 3000, 1000):
        assert service.report([str(report) for report in reports[start : start + 1000]], name="smoking").status == 201

    # Now the service has counts of reports, and an estimate with error bars.
    assert sum(collector.counts("smoking")["main"].values()) == 3001
    share = collector.estimate("smoking").interval(("cell", "yes"), level=SURE)
    assert share.low < 0.3 < share.high and share.high - share.low < 0.2
    estimate = run_json("collect", "estimate", "smoking", *at_service)
    assert estimate["people"] == 3001
    yes = dict(zip(estimate["values"], estimate["distribution"], strict=True))["yes"]
    assert share.low < yes < share.high
    # Without a token nobody learns anything, and nothing at the service tells who took part.
    assert service.ask("GET", "/v1/collections/smoking/estimate").status == 401
    assert_secret_stays(service.log, *tmp_path.glob("reports.db*"))
