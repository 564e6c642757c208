"""Whoever asks, through the library and the command line: collections are made, reports counted, estimates read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

import pytest

import discreet as dc
from discreet.collect import Collector
from discreet.collect.reporting.transport import Refused, ServiceResponse
from support.command_line import run
from support.refusals import refused
from support.survey_mechanisms import COUNTS, LABELS


@pytest.fixture
def collector(service, token):
    return Collector(f"http://127.0.0.1:{service.port}", f"{token}\n")


def test_a_collection_is_made_once_and_listed(collector, service):
    made = collector.create(f"{service.name}-a", LABELS, question="Do you?", minimum_reports=20)
    again = collector.create(f"{service.name}-a", {"main": LABELS}, question="Do you?", minimum_reports=20)
    assert made == again and made["title"] == "Do you?" and f"{service.name}-a" in collector.names()
    with refused(Refused, token="refuses"):
        collector.create(f"{service.name}-a", LABELS, question="Don't you?", minimum_reports=20)


class Recorder:
    """A transport that keeps the bodies of requests."""

    def __init__(self) -> None:
        self.bodies: list[bytes | None] = []

    def ask(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> ServiceResponse:
        self.bodies.append(body)
        return ServiceResponse(201, b"{}")


def test_the_former_name_of_the_target_error_makes_the_same_request_with_a_warning():
    transport = Recorder()
    collector = Collector("https://survey.example", "token", transport=transport)
    collector.create("a", LABELS, question="Do you?", target_error="±10 points")
    with pytest.warns(DeprecationWarning, match="wanted is now target_error"):
        collector.create("a", LABELS, question="Do you?", wanted="±10 points")
    assert transport.bodies[0] == transport.bodies[1] and json.loads(transport.bodies[0])["wanted"] == "±10 points"


@pytest.mark.parametrize("mechanism", [COUNTS, LABELS, dc.planar_geometric(dc.Grid(4, 4, 100), epsilon="0.01")])
def test_the_estimate_is_that_of_the_library_from_the_same_reports(collector, service, mechanism):
    name = f"{service.name}-{mechanism.inputs.size}"
    collector.create(name, mechanism, question="What?", minimum_reports=50)
    values = [mechanism.inputs.value(k % mechanism.inputs.size) for k in range(60)]
    drawn = mechanism.simulate(values, seed=1)
    reports = [list(one) if isinstance(one, tuple) else one for one in drawn.tolist()]
    assert service.report(reports[:40], name=name).status == 201
    with refused(dc.errors.InvalidInput, "name"):
        collector.estimate(name)
    assert service.report(reports[40:], name=name).status == 201
    found, expected = collector.estimate(name), dc.estimate(reports=drawn, mechanism=mechanism)
    assert found.people == 60 and found.distribution == pytest.approx(expected.distribution, abs=1e-12)


def test_people_of_two_epsilons_are_estimated_together(collector, service):
    two = {"more": dc.geometric(10, epsilon=2), "less": dc.geometric(10, epsilon=1)}
    collector.create(f"{service.name}-two", two, question="How many?", minimum_reports=10)
    for name, mechanism in two.items():
        reports = mechanism.simulate([4] * 30, seed=2).tolist()
        assert service.report(reports, mechanism=name, name=f"{service.name}-two").status == 201
    assert collector.estimate(f"{service.name}-two").people == 60


def test_a_token_for_others_permits_what_it_says(collector, service):
    reader = Collector(f"http://127.0.0.1:{service.port}", collector.make_token("read", service.name))
    assert set(reader.counts(service.name)) == {"main"}
    with pytest.raises(Refused):
        reader.names()


def test_what_is_no_such_service_is_said(collector):
    with refused(dc.errors.InvalidInput, "service"):
        Collector("http://survey.example", "x")
    with refused(Refused, token="no collection"):
        collector.counts("no-such")
    with refused(Refused, token="discreet serve"):
        Collector("http://127.0.0.1:9", "x", patience=0.3).names()
    with refused(dc.errors.InvalidInput, "token"):
        Collector("https://survey.example", "  ")


def test_the_command_line_makes_a_collection_and_reads_its_estimate(service, token, tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_TOKEN", raising=False)
    LABELS.save(tmp_path / "m.json")
    (tmp_path / "token.txt").write_text(f"{token}\n")
    here = ("--service", f"http://127.0.0.1:{service.port}")
    collect, permitted = partial(run, "collect", cwd=tmp_path), {"DISCREET_TOKEN": token}
    name = f"{service.name}-line"
    making = ("create", name, "--mechanism", "m.json", "--question", "Do you?", "--minimum-reports", "10")
    assert "DISCREET_TOKEN" in collect(*making, *here, code=2).stderr
    made = collect(*making, "--token-file", "token.txt", *here).stdout
    assert f"/collections/{name}/answer" in made and "from 10 reports" in made
    assert service.report(["yes"] * 12, name=name).status == 201
    shown = collect("estimate", name, "--page", "page.html", *here, env=permitted).stdout
    assert "12" in shown and (tmp_path / "page.html").stat().st_size > 10_000
    answered = json.loads(collect("estimate", name, "--json", "--level", "0.9", *here, env=permitted).stdout)
    assert answered["people"] == 12
    both = collect("create", f"{name}2", "--mechanism", "a=m.json", "--mechanism", "b=m.json", "--question", "Do you?",
                   "--target-error", "±10 points", "--by-token", "--json", *here, env=permitted)  # fmt: skip
    described = json.loads(both.stdout)
    assert described["reporting"] == "token" and [one["name"] for one in described["mechanisms"]] == ["a", "b"]
