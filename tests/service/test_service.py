"""The service as an app team meets it: over HTTP, in a process of its own."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import signal
import sqlite3
import sys
import threading
from datetime import date, timedelta
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import discreet as dc
from discreet.collect.collection import reports_needed
from discreet.collect.keys import KEY_DAYS, body_digest, new_key, today
from discreet.collect.service.problems import KINDS, MEDIA_TYPE
from discreet.collect.service.serve import Settings, serve
from discreet.collect.service.tokens import Tokens, new_token
from discreet.collect.stores.open import report_store
from support.command_line import run
from support.refusals import refused
from support.running_service import RunningService, make_token
from support.survey_mechanisms import COUNTS, LABELS, LARGE
from support.waiting import LIMIT_SECONDS, wait_for

pytestmark = pytest.mark.xdist_group("service")


def key_of(days_ago: int) -> str:
    return f"{date.fromordinal(today()) - timedelta(days=days_ago)}.{new_key()[11:]}"


def assert_problem(found, kind: str) -> None:
    assert found.status == KINDS[kind].status, found
    assert found.headers["content-type"] == MEDIA_TYPE
    assert found.json["type"] == f"urn:discreet:problem:{kind}" and found.json["status"] == found.status


# ------------------------------------------------------------------------------------------------ collections


def test_anybody_reads_the_description_and_proves_the_mechanism_again(service, tmp_path):
    described = service.ask("GET", f"/v1/collections/{service.name}").json
    (one,) = described["mechanisms"]
    assert described["values"] == {"kind": "counts", "n": 20} and one["name"] == "main"
    assert one["local_epsilon"] == pytest.approx(20) and one["epsilon"] == pytest.approx(1)
    (tmp_path / "m.json").write_bytes(service.ask("GET", f"/v1/collections/{service.name}/mechanisms/main").body)
    assert dc.load(tmp_path / "m.json") == COUNTS


def test_the_table_that_devices_sample_from_is_the_mechanism_in_integers(service):
    table = service.ask("GET", f"/v1/collections/{service.name}/mechanisms/main/table").json
    palette = [int(weight) for weight in table["palette"]]
    for truth, row in enumerate(table["codes"]):
        total = sum(palette[code] for code in row)
        chances = [Fraction(palette[code], total) for code in row]
        assert chances == [COUNTS.probability(truth, report) for report in range(21)]


def test_a_mechanism_without_a_table_of_integers_says_so(service, token):
    for name, mechanism in {"irrational": dc.discrete_gaussian(sigma2=4).on(dc.Counts(20)), "large": LARGE}.items():
        assert service.create(token, {"main": mechanism}, f"{service.name}-{name}").status == 201
        found = service.ask("GET", f"/v1/collections/{service.name}-{name}/mechanisms/main/table")
        assert_problem(found, "not-tabular")


def test_a_collection_is_made_once_and_never_changed(service, token):
    assert service.create(token, {"main": COUNTS}).status == 200
    assert_problem(service.create(token, {"main": dc.geometric(20, epsilon=2)}), "name-taken")
    assert service.ask("GET", "/v1/collections", token=token).json["names"].count(service.name) == 1


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"title": 3}, "title"),
        ({"question": ""}, "question"),
        ({"mechanisms": {}}, "mechanisms"),
        ({"mechanisms": {"main": {"format": "discreet mechanism"}}}, "mechanisms"),
        ({"mechanisms": {"a": COUNTS.to_json(), "b": LABELS.to_json()}}, "mechanisms"),
        ({"mechanisms": {"a": dc.two_sided_geometric(epsilon=1).to_json()}}, "mechanisms"),
        ({"mechanisms": {"a": COUNTS.on(dc.Counts(20), clamp=False).to_json()}}, "mechanisms"),
        ({"mechanisms": {"A": COUNTS.to_json()}}, "mechanisms"),
        ({"mechanisms": {"a": dc.geometric(10_000_000, epsilon=1).to_json()}}, "mechanisms"),
        ({"minimum_reports": 1}, "minimum_reports"),
        ({"minimum_reports": None}, "wanted"),
        ({"minimum_reports": None, "wanted": "soon"}, "wanted"),
        ({"reporting": "everybody"}, "reporting"),
        ({"color": "red"}, None),
    ],
)
def test_a_description_that_cannot_be_used_is_refused_by_its_field(service, token, changed, field):
    found = service.create(token, {"main": COUNTS}, f"{service.name}-other", **changed)
    assert_problem(found, "invalid")
    assert found.json.get("field") == field or field is None
    assert service.ask("GET", f"/v1/collections/{service.name}-other").status == 404


def test_a_mechanism_that_claims_too_much_is_refused(service, token):
    file = COUNTS.to_json()
    file["certificate"] = {**file["certificate"], "epsilon": 0.5}
    found = service.ask(
        "PUT", f"/v1/collections/{service.name}-other",
        {"title": "t", "question": "q", "minimum_reports": 10, "mechanisms": {"main": file}}, token,
    )  # fmt: skip
    assert_problem(found, "invalid")


# ------------------------------------------------------------------------------------------------ reports


def test_a_batch_is_counted_once_however_often_it_is_sent(service, token):
    key = new_key()
    first, *others = [service.report([1, 2, 2], key) for _ in range(4)]
    assert (first.status, first.json) == (201, {"outcome": "stored", "reports": 3})
    assert {(one.status, one.json["outcome"]) for one in others} == {(200, "repeated")}
    assert service.counts(token) == {"main": {1: 1, 2: 2}}


def test_the_same_key_with_another_body_is_refused_and_counts_nothing(service, token):
    key = new_key()
    assert service.report([1], key).status == 201
    assert_problem(service.report([2], key), "key-of-another-batch")
    service.create(token, {"main": COUNTS}, f"{service.name}-other")
    assert_problem(service.report([1], key, name=f"{service.name}-other"), "key-of-another-batch")
    assert service.counts(token) == {"main": {1: 1}}


def test_batches_that_come_at_once_under_one_key_are_counted_once(service, token):
    key, found = new_key(), []
    threads = [threading.Thread(target=lambda: found.append(service.report([5] * 10, key))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.status for one in found) == [200] * 11 + [201]
    assert service.counts(token) == {"main": {5: 10}}


@pytest.mark.parametrize("days", [KEY_DAYS + 1, 4000, -2, -4000])
def test_a_key_of_another_time_is_refused_with_the_day_of_a_new_one(service, token, days):
    refused = service.report([1], key_of(days))
    assert_problem(refused, "bad-key")
    assert service.counts(token) == {"main": {}}
    assert service.report([1], f"{refused.json['today']}.{new_key()[11:]}").status == 201


@pytest.mark.parametrize("days", [KEY_DAYS, 1, 0, -1])
def test_a_key_is_taken_for_its_days(service, days):
    assert service.report([1], key_of(days)).status == 201


@pytest.mark.parametrize("key", ["", "x", "2026-11-16", f"2026-02-30.{'0' * 32}", f"2026-11-16.{'G' * 32}", "é" * 43])
def test_what_is_not_a_key_is_refused(service, key):
    headers = {"Idempotency-Key": key.encode("utf-8").decode("latin-1")} if key else {}
    body = {"mechanism": "main", "reports": [1]}
    assert_problem(service.ask("POST", f"/v1/collections/{service.name}/reports", body, headers=headers), "bad-key")


def test_a_batch_with_two_keys_is_refused(service, token):
    body = b'{"mechanism": "main", "reports": [1]}'
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=LIMIT_SECONDS)
    connection.putrequest("POST", f"/v1/collections/{service.name}/reports")
    for name, value in [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]:
        connection.putheader(name, value)
    for _ in range(2):
        connection.putheader("Idempotency-Key", new_key())
    connection.endheaders(body)
    found = connection.getresponse()
    assert found.status == 400 and b"bad-key" in found.read()
    connection.close()
    assert service.counts(token) == {"main": {}}


@pytest.mark.parametrize(
    "reports",
    [[], [21], [-1], [1.0], [True], ["1"], [None], [[1]], "1", 1, None, {"1": 1}, [10**30], [1, 2, 21], [1] * 10_001],
    ids=lambda x: repr(x)[:20],
)
def test_a_batch_with_anything_but_reports_is_refused_as_a_whole(service, token, reports):
    assert_problem(service.report(reports), "invalid")
    assert service.counts(token) == {"main": {}}


def test_labels_are_reported_by_what_they_say(service, token):
    service.create(token, {"main": LABELS}, f"{service.name}-answers")
    assert service.report(["yes", "7", "yes"], name=f"{service.name}-answers").status == 201
    for wrong in (["maybe"], [7], [0], [True], [["yes"]]):
        assert_problem(service.report(wrong, name=f"{service.name}-answers"), "invalid")
    assert service.counts(token, f"{service.name}-answers") == {"main": {"yes": 2, "7": 1}}


def test_the_wrong_body_kind_size_and_place_are_refused(service, token):
    path, key = f"/v1/collections/{service.name}/reports", {"Idempotency-Key": new_key()}
    assert_problem(service.ask("POST", path, b"{", headers=key), "bad-request")
    assert_problem(service.ask("POST", path, b"[" * 100_000, headers=key), "invalid")
    twice = b'{"mechanism": "main", "mechanism": "main", "reports": [2]}'
    sixteen = '{"mechanism": "main", "reports": [1]}'.encode("utf-16")
    for body in (twice, sixteen, sixteen[2:]):
        assert_problem(service.ask("POST", path, body, headers=key), "bad-request")
    assert_problem(service.ask("POST", path, b"{}", headers=key), "invalid")
    assert_problem(service.ask("POST", path, b"{}", headers={**key, "Content-Type": "text/plain"}), "not-json")
    assert_problem(service.ask("POST", path, b" " * 1_000_001, headers=key), "too-large")
    assert_problem(service.report([1], name="none"), "not-found")
    assert_problem(service.report([1], mechanism="none"), "invalid")
    assert_problem(service.ask("GET", "/nothing"), "not-found")
    assert_problem(service.ask("DELETE", "/health"), "method-not-allowed")
    assert service.counts(token) == {"main": {}}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)


def test_fuzzed_bodies_are_refused_and_nothing_is_stored(service, token):
    """Bodies that are JSON but no batch, bodies that are nearly one, and bytes."""

    @hypothesis_settings(max_examples=150)
    @given(
        _JSON.map(lambda body: json.dumps(body).encode())
        | st.lists(_JSON, min_size=1, max_size=3).map(
            lambda more: json.dumps({"mechanism": "main", "reports": [3, *more, 21]}).encode()
        )
        | st.binary(max_size=60)
    )
    def refused(body: bytes) -> None:
        found = service.ask(
            "POST", f"/v1/collections/{service.name}/reports", body, headers={"Idempotency-Key": new_key()}
        )
        assert 400 <= found.status < 500, (body, found)
        assert found.headers["content-type"] == MEDIA_TYPE

    refused()
    assert service.counts(token) == {"main": {}}


# ------------------------------------------------------------------------------------------------ answers


def test_an_estimate_is_that_of_the_library_from_the_same_counts(service, token):
    reports = COUNTS.simulate([3] * 300 + [12] * 200, seed=1).tolist()
    for start in range(0, 500, 100):
        assert service.report(reports[start : start + 100]).status == 201
    found = service.ask("GET", f"/v1/collections/{service.name}/estimate?level=0.9", token=token).json
    expected = dc.estimate(reports=reports, mechanism=COUNTS).to_json(0.9)
    assert found["reports"] == 500 and found["estimate"] == json.loads(json.dumps(expected))
    # one percent of fake reports: (max g - min g) / 100 of the unbiased weights of the mean
    weights = np.linalg.solve(COUNTS.matrix, np.arange(21.0))
    assert found["fake_reports"]["moves_by_at_most"] == pytest.approx(0.01 * (max(weights) - min(weights)))


def test_people_who_chose_between_epsilons_are_estimated_by_groups_too(service, token):
    two = {"more": dc.geometric(10, epsilon=2), "less": dc.geometric(10, epsilon=1)}
    service.create(token, two, f"{service.name}-choice")
    for name, mechanism in two.items():
        reports = mechanism.simulate([4] * 100, seed=2).tolist()
        assert service.report(reports, mechanism=name, name=f"{service.name}-choice").status == 201
    found = service.ask("GET", f"/v1/collections/{service.name}-choice/estimate", token=token).json["estimate"]
    assert found["people"] == 200 and {"stratified", "homogeneity"} <= set(found)


def test_an_estimate_waits_for_the_reports_that_the_error_allowed_takes(service, token):
    coin = dc.randomized_response(["yes", "no"], alpha="1/3")
    made = service.create(token, {"main": coin}, f"{service.name}-coin", minimum_reports=None, wanted="±10 points")
    # variance 1 for each report: (1.96 / 0.1)^2
    assert made.json["minimum_reports"] == reports_needed({"main": coin}, "±10 points") == 385
    service.report(["yes"] * 384, name=f"{service.name}-coin")
    found = service.ask("GET", f"/v1/collections/{service.name}-coin/estimate", token=token)
    assert_problem(found, "too-few-reports")
    assert (found.json["reports"], found.json["needed"]) == (384, 385)
    service.report(["no"], name=f"{service.name}-coin")
    assert service.ask("GET", f"/v1/collections/{service.name}-coin/estimate", token=token).status == 200


# ------------------------------------------------------------------------------------------------ who may do what


def test_every_private_route_asks_for_a_token_that_permits_it(service, token):
    made = service.ask("POST", "/v1/tokens", {"right": "read", "collection": service.name}, token)
    assert made.status == 201
    reader = made.json["token"]
    routes = [
        ("GET", "/v1/collections", None), ("PUT", "/v1/collections/x", {}), ("POST", "/v1/tokens", {"right": "read"}),
        ("DELETE", f"/v1/tokens/{made.json['name']}", None), ("GET", f"/v1/collections/{service.name}/estimate", None),
        ("GET", f"/v1/collections/{service.name}/counts", None), ("GET", "/metrics", None),
    ]  # fmt: skip
    for method, path, body in routes:
        for wrong in (None, "x", f"{reader[:-1]}{'a' if reader[-1] != 'a' else 'b'}"):
            found = service.ask(method, path, body, wrong)
            assert_problem(found, "no-token")
            assert found.headers["www-authenticate"] == "Bearer"
        if service.name not in path:
            assert_problem(service.ask(method, path, body, reader), "not-permitted")
    assert service.ask("GET", f"/v1/collections/{service.name}/counts", token=reader).status == 200
    assert_problem(service.ask("GET", f"/v1/collections/{service.name}-other/counts", token=reader), "not-permitted")


def test_reports_by_token_need_one_for_that_collection(service, token):
    service.create(token, {"main": COUNTS}, f"{service.name}-closed", reporting="token")
    reporter = service.ask(
        "POST", "/v1/tokens", {"right": "report", "collection": f"{service.name}-closed"}, token
    ).json["token"]
    reader = service.ask("POST", "/v1/tokens", {"right": "read"}, token).json["token"]
    assert_problem(service.report([1], name=f"{service.name}-closed"), "no-token")
    assert_problem(service.report([1], name=f"{service.name}-closed", token=reader), "not-permitted")
    assert service.report([1], name=f"{service.name}-closed", token=reporter).status == 201
    assert service.report([1], name=f"{service.name}-closed", token=token).status == 201


def test_a_removed_token_is_forgotten(tmp_path):
    store = str(tmp_path / "reports.db")
    place = report_store(store)
    place.open()
    text, kept = new_token("read")
    place.add_token(kept)
    now = [0.0]
    tokens = Tokens(place, lambda: now[0])
    assert tokens.find(text) == kept and place.remove_token(kept.name) and not place.remove_token(kept.name)
    now[0] = 11.0
    assert tokens.find(text) is None
    place.close()


def test_an_address_that_asks_too_often_is_told_when_to_come_back(tmp_path):
    store = str(tmp_path / "reports.db")
    hasty = RunningService(store, tmp_path / "log", ("--rate", "0.0001"))
    hasty.start()  # which asked whether it is ready, and nobody may ask again for 10,000 seconds
    try:
        assert hasty.ask("GET", "/browser/discreet.js").status == 200  # pages and their files are not counted with it
        refused = hasty.ask("GET", "/health")
        assert_problem(refused, "too-many-requests")
        assert int(refused.headers["retry-after"]) > 9000
        assert_problem(hasty.report([1]), "too-many-requests")
    finally:
        hasty.stop()


def test_an_address_that_sends_too_many_reports_is_told_when_to_come_back(tmp_path):
    store = str(tmp_path / "reports.db")
    token = make_token(store)
    hasty = RunningService(store, tmp_path / "log", ("--rate", "0", "--report-rate", "0.1"))
    hasty.start()
    try:
        assert hasty.create(token, {"main": COUNTS}).status == 201
        assert hasty.report([1] * 500).status == 201  # once, however large: the burst of one is there
        refused = hasty.report([1])
        assert_problem(refused, "too-many-requests")
        assert int(refused.headers["retry-after"]) > 4000  # 499 reports too many, ten seconds each
    finally:
        hasty.stop()


def test_every_answer_has_the_security_headers(service, token):
    for found in (
        service.ask("GET", "/health"), service.ask("GET", "/nothing"), service.report([1]), service.report([99]),
        service.ask("GET", "/docs"), service.ask("GET", "/metrics"),
    ):  # fmt: skip
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["content-security-policy"].startswith("default-src 'none'")
        assert found.headers["cache-control"] == "no-store" and "server" not in found.headers


# ------------------------------------------------------------------------------------------------ what is kept


class Written(NamedTuple):
    """What a service left that took one batch of one report, refused another, and was stopped."""

    store: str
    log: str
    name: str
    key: str
    token: str


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("written")
    store, key = str(folder / "reports.db"), new_key()
    token = make_token(store)
    service = RunningService(store, folder / "log", ("--rate", "0"))
    service.start()
    try:
        assert service.create(token, {"main": COUNTS}).status == 201
        assert service.report([13], key).status == 201
        assert service.report([99], new_key(), token=token).status == 422
    finally:
        service.stop()
    return Written(store, service.log.read_text(), service.name, key, token)


def test_no_row_and_no_line_joins_a_key_a_token_or_an_address_with_a_report(written):
    store, key = written.store, written.key
    with sqlite3.connect(store) as base:
        tables = dict(base.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
        rows = [row for name in tables for row in base.execute(f"SELECT * FROM {name}")]
    columns = {name: re.findall(r"(\w+) (?:TEXT|INTEGER|BLOB)", sql) for name, sql in tables.items()}
    assert columns["counts"] == ["mechanism", "report", "times"] and columns["batches"] == ["day", "key", "digest"]
    (report_tables,) = [[name for name, own in columns.items() if "report" in own]]
    assert report_tables == ["counts"]  # and that table has no key, token, address or time
    everything = Path(store).read_bytes() + repr(rows).encode()
    secret = written.token.rsplit("_", 1)[1]
    for hidden in (key, key[11:], secret, "127.0.0.1"):
        assert hidden.encode() not in everything
    assert bytes.fromhex(key[11:]) not in everything
    said = written.log
    assert said and all(json.loads(line) for line in said.splitlines())
    for hidden in (key[11:], secret, "POST", "/v1/", "127.0.0.1:"):
        assert hidden not in re.sub(r"http://127\.0\.0\.1:\d+ ", "", said)  # where it listens


def test_the_digest_of_a_batch_of_one_report_cannot_be_guessed_without_its_key(written):
    """Twenty-one bodies are possible: under the hash of the key, which the store keeps, none gives the digest."""
    key, name = written.key, written.name
    with sqlite3.connect(written.store) as base:
        ((kept, digest),) = base.execute("SELECT key, digest FROM batches")
    bodies = [json.dumps({"mechanism": "main", "reports": [k]}).encode() for k in range(21)]
    assert digest == body_digest(key, name, bodies[13])
    guesses = [body_digest(guess, name, body) for guess in (kept.hex(), "", key[:10]) for body in bodies]
    assert digest not in guesses


# ------------------------------------------------------------------------------------------------ operation


def test_a_second_service_on_the_same_file_is_refused(service):
    assert "another process" in run("serve", service.store, "--port", 0, code=2).stderr
    assert service.report([1]).status == 201


def test_several_workers_need_a_store_that_several_may_write(tmp_path):
    assert "one writer" in run("serve", tmp_path / "reports.db", "--workers", 2, code=2).stderr


def test_a_stopped_service_has_written_all_that_it_acknowledged(own):
    service, token = own.service, own.token
    acknowledged, stop = [], threading.Event()

    def send() -> None:
        while not stop.is_set():
            try:
                acknowledged.append(service.report([4] * 10).status)
            except OSError:
                return

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(acknowledged) >= 40)
    assert service.stop() in (0, -signal.SIGTERM)
    stop.set()
    for thread in threads:
        thread.join()
    assert '"event": "stopped"' in service.log.read_text()
    service.start()
    counted = service.counts(token)["main"][4]
    sure = acknowledged.count(201)
    assert sure * 10 <= counted <= (sure + len(threads)) * 10
    assert set(acknowledged) <= {201, 503}


def test_metrics_count_reports_and_name_nobody(service, token):
    key = new_key()
    for _ in range(2):
        service.report([1, 2], key)
    reader = service.ask("POST", "/v1/tokens", {"right": "read"}, token).json["token"]
    said = service.ask("GET", "/metrics", token=reader).body.decode()
    assert re.search(r'discreet_reports_stored_total\{worker="\d+"\} \d+\n', said)
    assert re.search(r'discreet_batches_total\{worker="\d+",outcome="repeated"\} \d+\n', said)
    assert "visits" not in said and key not in said


class _Loads(HTMLParser):
    """What a page loads or runs."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe") or any(name == "src" for name, _ in attrs):
            self.found.append(tag)


def test_the_api_is_described_without_outside_scripts(service):
    described = service.ask("GET", "/openapi.json").json
    assert described["openapi"].startswith("3.") and "post" in described["paths"]["/v1/collections/{name}/reports"]
    page = service.ask("GET", "/docs")
    reader = _Loads()
    reader.feed(page.body.decode())
    assert reader.found == [] and "/v1/collections/{name}/reports" in page.body.decode()


def test_without_the_extra_the_verb_says_how_to_install_it(monkeypatch, tmp_path):

    monkeypatch.setitem(sys.modules, "fastapi", None)
    with refused(dc.errors.MissingExtra, token="discreet[server]"):
        serve(Settings(str(tmp_path / "reports.db")))


def test_a_token_is_made_on_the_command_line(tmp_path):
    store = str(tmp_path / "reports.db")
    text = run("collect", "token", store, "--right", "read", "--collection", "visits").stdout.strip()
    assert re.fullmatch(r"discreet_[0-9a-f]{12}_[\w-]{43}", text)
    kept = report_store(store).token(text.split("_")[1])
    assert kept is not None and (kept.right, kept.collection) == ("read", "visits")
    assert hashlib.sha256(text[22:].encode()).digest() == kept.secret_hash
