"""The Python client: it proves, pays, draws once, keeps, and sends the same bytes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import discreet as dc
from discreet.collect import Client, Offer
from discreet.collect.collection import Collection
from discreet.collect.reporting.client import Refused, farthest_centres
from discreet.collect.reporting.diary import Diary, Participation
from discreet.collect.reporting.repetition import guessed_right
from discreet.collect.reporting.transport import ServiceResponse, ServiceUnreachable
from discreet.errors import Altered, BudgetExceeded, ForeignValue, InvalidInput, NotPrivate, UnreadableFile
from discreet.mechanism import fingerprint
from support.refusals import refused
from support.waiting import wait_for

COIN = dc.randomized_response(["yes", "no"], alpha="1/3")
WIDE = dc.randomized_response(50, epsilon=1)


class FakeService:
    """Answers as a service does, or as it fails; remembers what was sent."""

    def __init__(self, **mechanisms: dc.Mechanism) -> None:
        self.collection = Collection("survey", "Survey", "Have you?", mechanisms or {"main": COIN}, "open", 10)
        self.files = {name: one.to_json() for name, one in self.collection.mechanisms.items()}
        self.sent: list[tuple[str, str, bytes]] = []
        self.statuses: list[int | ServiceResponse | None] = []
        self.busy: list[ServiceResponse] = []

    def ask(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> ServiceResponse:
        assert url.startswith("https://survey.example/v1/collections/survey")
        if method == "GET" and self.busy:
            return self.busy.pop(0)
        if method == "GET":
            name = url.rpartition("/mechanisms/")[2]
            return ServiceResponse(
                200, json.dumps(self.files[name] if name in self.files else self.collection.to_json()).encode()
            )
        assert body is not None
        self.sent.append((url, headers["Idempotency-Key"], body))
        status = self.statuses.pop(0) if self.statuses else 201
        if status is None:
            raise ServiceUnreachable("no answer.")
        return status if isinstance(status, ServiceResponse) else ServiceResponse(status, b"{}")

    @property
    def reports(self) -> list[object]:
        return [json.loads(body)["reports"][0] for _, _, body in self.sent]


def client_of(service: FakeService, folder: Path, maximum: object = 10, **more: object) -> Client:
    return Client(
        "https://survey.example", folder / "diary", maximum=maximum, transport=service, sleep=lambda _: None, **more
    )  # type: ignore[arg-type]


def offer_of(client: Client, **more: object) -> Offer:
    return client.offer("survey", **{"person": "ann", "about": "the matter", **more})  # type: ignore[arg-type]


@pytest.fixture
def survey() -> FakeService:
    return FakeService()


# ------------------------------------------------------------------------------------------------ proving


def test_the_mechanism_is_proved_again_on_the_device(survey: FakeService, tmp_path: Path) -> None:
    offer = offer_of(client_of(survey, tmp_path))
    assert offer.mechanism == COIN and offer.epsilon == pytest.approx(np.log(3))
    claimed = dict(survey.files["main"])
    claimed["certificate"] = {**claimed["certificate"], "epsilon": 0.1}
    survey.files["main"] = claimed
    with pytest.raises(Altered):
        offer_of(client_of(survey, tmp_path))
    survey.files["main"] = {**claimed, "sha256": fingerprint(claimed)}  # a service that lies carefully
    with pytest.raises(NotPrivate):
        offer_of(client_of(survey, tmp_path))
    assert survey.sent == []


def test_a_count_mechanism_costs_its_epsilon_between_any_two_values(tmp_path: Path) -> None:
    offer = offer_of(client_of(FakeService(main=dc.geometric(20, epsilon=1)), tmp_path, 100))
    assert offer.epsilon == pytest.approx(20)


def test_a_map_costs_its_epsilon_at_the_stated_radius(tmp_path: Path) -> None:
    service = FakeService(main=dc.planar_geometric(dc.Grid(4, 4, cell=100.0), epsilon=0.01))
    with refused(InvalidInput, "radius"):
        offer_of(client_of(service, tmp_path))
    offer = offer_of(client_of(service, tmp_path, radius=200.0))
    per_metre = dc.verify(offer.mechanism, "metric").epsilon
    # places 200 metres apart can be three rows and a column apart, by the centres of their cells
    assert offer.epsilon == pytest.approx(100 * 10**0.5 * per_metre) and "200 metres" in offer.describe()


@pytest.mark.parametrize("radius", [1, 99, 100, 150, 250, 1000])
def test_the_cost_of_a_map_covers_any_two_places_within_the_radius(radius: int) -> None:
    """Corners and borders of cells, where places are nearest for their cells, against all pairs of cells."""
    grid = dc.Grid(5, 7, cell=100.0)
    far = 0.0
    for one in range(grid.size):
        for other in range(grid.size):
            (r, c), (s, d) = divmod(one, 7), divmod(other, 7)
            gap = 100 * np.hypot(max(abs(r - s) - 1, 0), max(abs(c - d) - 1, 0))
            if gap <= radius:
                far = max(far, 100 * float(np.hypot(r - s, c - d)))
    found = farthest_centres(grid, Fraction(radius))
    assert far <= found <= far + 1e-6 and found >= radius * (radius <= 400)


def test_wide_cells_do_not_make_a_map_free(tmp_path: Path) -> None:
    service = FakeService(main=dc.planar_geometric(dc.Grid(4, 4, cell=1000.0), epsilon="1/100"))
    offer = offer_of(client_of(service, tmp_path, 100, radius=1))
    assert offer.epsilon >= 10  # two places a metre apart, on both sides of a border


def test_costs_at_different_radii_are_not_added_up(tmp_path: Path) -> None:
    service = FakeService(main=dc.planar_geometric(dc.Grid(4, 4, cell=100.0), epsilon="1/100"))
    near = client_of(service, tmp_path, 100, radius=1)
    near.report(offer_of(near), 3, consent=True)
    service.files["main"] = dc.planar_geometric(dc.Grid(4, 4, cell=100.0), epsilon="1/50").to_json()
    far = client_of(service, tmp_path, 100, radius=500)
    with refused(InvalidInput, "radius"):
        far.report(offer_of(far), 3, consent=True, again=True)
    assert len(service.sent) == 1


def test_a_mechanism_that_protects_no_ones_own_value_is_refused(tmp_path: Path) -> None:
    certain = dc.from_matrix([[1, 0], ["1/2", "1/2"]])
    with refused(NotPrivate, token="no finite epsilon"):
        offer_of(client_of(FakeService(main=certain), tmp_path))


# ------------------------------------------------------------------------------------------------ consent and cost


def test_nothing_is_drawn_without_consent_or_for_what_is_not_a_value(survey: FakeService, tmp_path: Path) -> None:
    client = client_of(survey, tmp_path)
    offer = offer_of(client)
    for consent in (False, None, 1, "yes"):
        with refused(InvalidInput, "consent"):
            client.report(offer, "yes", consent=consent)  # type: ignore[arg-type]
    with pytest.raises(ForeignValue):
        client.report(offer, "perhaps", consent=True)
    assert survey.sent == [] and client.spent("ann", "the matter") == 0


def test_cost_adds_up_over_collections_mechanisms_and_draws_until_the_maximum(tmp_path: Path) -> None:
    service = FakeService(one=COIN, two=dc.randomized_response(["yes", "no"], alpha="1/2"))
    client = client_of(service, tmp_path, 4)
    client.report(offer_of(client, mechanism="one", draws=2), "yes", consent=True)
    assert client.spent("ann", "the matter") == pytest.approx(2 * np.log(3))
    client.report(offer_of(client, mechanism="two"), "yes", consent=True, again=True)
    assert client.spent("ann", "the matter") == pytest.approx(2 * np.log(3) + np.log(2))
    service.files["one"] = dc.randomized_response(["yes", "no"], alpha="1/4").to_json()  # the same name, another one
    with refused(BudgetExceeded, token="1.38 ... 1.1 ... of 4"):
        client.report(offer_of(client, mechanism="one"), "yes", consent=True, again=True)
    assert len(service.sent) == 2
    client.report(offer_of(client, mechanism="one", person="bob"), "yes", consent=True)
    client.report(offer_of(client, mechanism="one", about="something else", person="cy"), "yes", consent=True)
    assert len(service.sent) == 4


def test_whether_somebody_may_take_part_never_depends_on_how_often_their_value_moved(tmp_path: Path) -> None:
    spent = []
    for name, values in (("still", ["yes"] * 4), ("moving", ["yes", "no", "yes", "no"])):
        (tmp_path / name).mkdir()
        client = client_of(FakeService(), tmp_path / name)
        for value in values:
            client.report(offer_of(client, draws=2), value, consent=True)
        spent.append(client.spent("ann", "the matter"))
    assert spent[0] == spent[1] > 0


def test_the_matter_and_the_draws_of_a_part_stay_as_they_were(survey: FakeService, tmp_path: Path) -> None:
    client = client_of(survey, tmp_path)
    client.report(offer_of(client), "yes", consent=True)
    for other in ({"about": "another name"}, {"draws": 2}):
        with refused(InvalidInput, "draws"):
            client.report(offer_of(client, **other), "yes", consent=True)
    assert len(survey.sent) == 1


# ------------------------------------------------------------------------------------------------ drawn once


def test_a_value_has_one_report_however_often_it_is_asked_for(tmp_path: Path) -> None:
    service = FakeService(main=WIDE)
    for _ in range(10):
        client = client_of(service, tmp_path)  # the diary remembers, not the process
        assert client.report(offer_of(client), 7, consent=True, again=True) == "counted"
    assert len(set(service.reports)) == 1 and len({key for _, key, _ in service.sent}) == 10


def test_a_person_is_counted_once_unless_the_survey_asks_in_rounds(tmp_path: Path) -> None:
    """Whatever the value is later, and by whatever mechanism: a second report would pass for a second person."""
    service = FakeService(main=WIDE, other=dc.randomized_response(50, epsilon=2))
    client = client_of(service, tmp_path)
    service.statuses = [None] * 4
    assert client.report(offer_of(client, mechanism="main"), 7, consent=True) == "waiting"
    assert client.report(offer_of(client, mechanism="other"), 8, consent=True) == "counted"  # what waited, as it was
    assert len({(key, body) for _, key, body in service.sent}) == 1
    for value, name in ((7, "main"), (9, "main"), (7, "other")):
        assert client.report(offer_of(client, mechanism=name), value, consent=True) == "counted before"
    assert len(service.sent) == 5 and client.send_waiting()["counted"] == 0
    assert client.report(offer_of(client, mechanism="main", person="bob"), 7, consent=True) == "counted"


def test_a_value_that_moves_is_drawn_afresh_up_to_the_cap_and_then_earlier_reports_are_sent(tmp_path: Path) -> None:
    service = FakeService(main=WIDE)
    client = client_of(service, tmp_path)
    for value in range(12):
        assert client.report(offer_of(client, draws=3), value, consent=True) == "counted"
    first, later = service.reports[:3], service.reports[3:]
    assert len(later) == 9 and set(later) <= set(first)  # nothing new, and no silence
    for value in (0, 1, 2, 0):
        client.report(offer_of(client, draws=3), value, consent=True)
    assert service.reports[-4:] == [*first, first[0]]


def test_the_report_at_the_cap_is_chosen_without_looking_at_the_value(tmp_path: Path) -> None:
    """The choice gets the list of fresh reports and nothing else; all of them come up, and each value keeps its own."""
    service = FakeService(main=dc.from_matrix(np.full((50, 50), 0.02)))
    client = client_of(service, tmp_path)
    offer = offer_of(client, draws=2)
    for value in (0, 1):
        client.report(offer, value, consent=True)
    first, second = service.reports
    chosen = []
    for value in range(2, 32):
        for _ in range(2):
            client.report(offer, value, consent=True)
        chosen.append(set(service.reports[-2:]))
    assert all(len(one) == 1 for one in chosen)  # as for a value with a report of its own
    assert first == second or set().union(*chosen) == {first, second}


def test_a_first_report_is_one_draw_of_the_mechanism_for_the_true_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws, real = [], dc.Mechanism.release

    def release(mechanism: dc.Mechanism, value: object) -> object:
        draws.append((value, real(mechanism, value)))
        return draws[-1][1]

    service = FakeService(main=WIDE)
    client = client_of(service, tmp_path)
    offer = offer_of(client)
    monkeypatch.setattr(dc.Mechanism, "release", release)
    for k in range(8):
        client.report(replace(offer, part=replace(offer.part, person=f"p{k}")), 5 * k, consent=True)
    assert [value for value, _ in draws] == [5 * k for k in range(8)]
    assert service.reports == [report for _, report in draws]


def test_fresh_draws_give_a_value_away_and_a_report_drawn_once_does_not() -> None:
    once = guessed_right(COIN, 1, drawn_once=False)
    assert guessed_right(COIN, 100, drawn_once=False) > 0.999
    assert guessed_right(COIN, 100, drawn_once=True) == once == pytest.approx(0.75, abs=0.04)


# ------------------------------------------------------------------------------------------------ sending


def test_a_report_is_kept_before_it_is_sent_and_the_same_bytes_are_sent_again(tmp_path: Path) -> None:
    service = FakeService(main=WIDE)
    service.statuses = [None, 503, 500, 429]
    client = client_of(service, tmp_path)
    assert client.report(offer_of(client), 3, consent=True) == "waiting"
    assert len(service.sent) == 4 and len(set(service.sent)) == 1
    again = client_of(service, tmp_path)
    assert again.send_waiting() == {"counted": 1, "waiting": 0, "expired": 0, "refused": 0}
    assert len(set(service.sent)) == 1 and again.send_waiting()["counted"] == 0


def test_a_device_that_dies_while_it_sends_has_kept_the_report(tmp_path: Path) -> None:
    class Dies(FakeService):
        def ask(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> ServiceResponse:
            if method == "POST":
                with sqlite3.connect(tmp_path / "diary") as diary:
                    kept = diary.execute("SELECT key, body FROM waiting").fetchall()
                assert kept == [(headers["Idempotency-Key"], body)]
                raise KeyboardInterrupt
            return super().ask(method, url, body, headers)

    client = client_of(Dies(), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        client.report(offer_of(client), "yes", consent=True)
    service = FakeService()
    assert client_of(service, tmp_path).send_waiting()["counted"] == 1 and len(service.sent) == 1


def test_a_report_whose_key_expired_is_not_sent_under_another(survey: FakeService, tmp_path: Path) -> None:
    survey.statuses = [410]
    client = client_of(survey, tmp_path)
    assert client.report(offer_of(client), "yes", consent=True) == "expired"
    assert client.send_waiting() == {"counted": 0, "waiting": 0, "expired": 0, "refused": 0}


def wrong_day(day: str) -> ServiceResponse:
    """What a service answers to a key that it never counts."""
    return ServiceResponse(400, json.dumps({"type": "urn:discreet:problem:bad-key", "today": day}).encode())


def test_a_device_whose_clock_is_wrong_sends_the_same_report_under_a_key_of_the_services_day(tmp_path: Path) -> None:
    service = FakeService(main=WIDE)
    service.statuses = [wrong_day("2031-02-03"), None]
    client = client_of(service, tmp_path)
    assert client.report(offer_of(client), 3, consent=True) == "counted"
    (_, first, body), *others = service.sent
    assert [one[2] for one in others] == [body] * 2 and len({one[1] for one in others}) == 1  # kept, and sent again
    assert others[0][1] != first and others[0][1].startswith("2031-02-03.")
    assert client.send_waiting()["counted"] == 0


@pytest.mark.parametrize(
    "answer",
    [
        ServiceResponse(400, b"{}"), ServiceResponse(400, b"x"), wrong_day("soon"),
        ServiceResponse(422, wrong_day("2031-02-03").body),
        ServiceResponse(400, b'{"type": "urn:discreet:problem:bad-key"}'),
    ],
)  # fmt: skip
def test_a_key_is_kept_unless_the_service_says_that_it_never_counts_it(
    survey: FakeService, tmp_path: Path, answer: ServiceResponse
) -> None:
    survey.statuses = [answer]
    client = client_of(survey, tmp_path)
    with pytest.raises(Refused, match="kept"):
        client.report(offer_of(client), "yes", consent=True)
    assert client.send_waiting()["counted"] == 1 and len(set(survey.sent)) == 1


def test_a_service_that_takes_no_day_of_its_own_ends_the_tries(survey: FakeService, tmp_path: Path) -> None:
    survey.statuses = [wrong_day("2031-02-03")] * 5
    client = client_of(survey, tmp_path)
    with pytest.raises(Refused, match="kept"):
        client.report(offer_of(client), "yes", consent=True)
    assert len(survey.sent) == 2 and len(client.send_waiting()) == 4


def test_two_processes_of_a_device_agree_on_the_new_key(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    part = Participation("ann", "visits", "https://s", "survey", "digest", 1, Fraction(1))
    kept = diary.answer(part, Fraction(9), 3, lambda: 4, lambda report: ("https://s/x", b"body"), False)
    assert kept is not None
    first, second = (diary.renew_key(kept, 741_000) for _ in range(2))
    assert first == second == diary.waiting_reports("https://s/")[0] and first is not None
    assert first.key != kept.key and first.body == kept.body
    diary.forget(first, counted=True)
    assert diary.renew_key(kept, 741_000) is None


def test_what_is_fetched_is_asked_for_again_when_the_service_has_time(survey: FakeService, tmp_path: Path) -> None:
    waits: list[float] = []
    client = Client("https://survey.example", tmp_path / "d", maximum=9, transport=survey, sleep=waits.append)
    survey.busy = [ServiceResponse(429, b"", 2.0), ServiceResponse(503, b"")]
    assert offer_of(client).mechanism == COIN and waits == [2.0, 1.0]
    for status, words in ((429, "Too many requests.*in 7 seconds"), (503, "busy"), (404, "no such collection")):
        survey.busy = [ServiceResponse(status, b"", 7.0)] * 4
        with pytest.raises(Refused, match=words):
            offer_of(client)
    waits.clear()
    survey.busy = [ServiceResponse(429, b"", 9000.0)]  # too long to wait for
    with pytest.raises(Refused, match="9000 seconds"):
        offer_of(client)
    assert waits == []


def test_a_report_waits_as_long_as_the_service_says(survey: FakeService, tmp_path: Path) -> None:
    waits: list[float] = []
    client = Client("https://survey.example", tmp_path / "d", maximum=9, transport=survey, sleep=waits.append)
    survey.statuses = [ServiceResponse(429, b"", 5.0), ServiceResponse(503, b"", 60.0)]
    assert client.report(offer_of(client), "yes", consent=True) == "waiting"
    assert waits == [5.0] and len(set(survey.sent)) == 1


def test_a_refusal_is_said_and_a_redirect_is_not_followed(survey: FakeService, tmp_path: Path) -> None:
    survey.statuses = [307, 422]
    client = client_of(survey, tmp_path)
    for status, person in ((307, "ann"), (422, "bob")):
        with refused(Refused, token=f"status {status}"):
            client.report(offer_of(client, person=person), "yes", consent=True)
    survey.statuses = [401, 201]  # one refusal does not hold up the other
    assert client.send_waiting() == {"counted": 1, "waiting": 0, "expired": 0, "refused": 1}


@pytest.mark.parametrize("text", ["Survey\nepsilon is 0.", "\x1b[2J", None, 7, "x" * 3000])
def test_texts_that_could_pass_for_the_clients_own_words_are_refused(text: object, tmp_path: Path) -> None:
    """A line of its own, or signs that move a terminal, would stand in what people agree to."""
    survey = FakeService()
    described = {**survey.collection.to_json(), "title": text}
    survey.collection = SimpleNamespace(to_json=lambda: described)  # type: ignore[assignment]
    with refused(Refused, token="title"):
        offer_of(client_of(survey, tmp_path))


def test_an_offer_is_reported_where_it_was_made(survey: FakeService, tmp_path: Path) -> None:
    offer = offer_of(client_of(survey, tmp_path))
    other = Client("https://other.example", tmp_path / "diary", maximum=10, transport=survey)
    with refused(InvalidInput, "offer"):
        other.report(offer, "yes", consent=True)
    assert survey.sent == []


def test_a_request_carries_the_report_and_no_true_value(tmp_path: Path) -> None:
    survey = FakeService()
    client = client_of(survey, tmp_path)
    client.report(offer_of(client, person="ann-secret", about="about-secret"), "yes", consent=True)
    ((url, key, body),) = survey.sent
    assert (
        json.loads(body) == {"mechanism": "main", "reports": survey.reports} and "secret" not in f"{url}{key}{body!r}"
    )


@pytest.mark.parametrize("address", ["http://survey.example", "ftp://survey.example", "survey.example", "https://a@b"])
def test_reports_go_over_tls_or_stay_on_this_computer(address: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        Client(address, tmp_path / "diary", maximum=1)
    assert not (tmp_path / "diary").exists()


def test_another_file_is_not_taken_for_a_diary(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other") as base:
        base.execute("CREATE TABLE t (x)")
    with refused(UnreadableFile, token="diary"):
        Client("https://survey.example", tmp_path / "other", maximum=Fraction(1, 2))


def test_a_client_and_a_service_work_together(service, token, tmp_path: Path) -> None:
    client = Client(f"http://127.0.0.1:{service.port}", tmp_path / "diary", maximum=100)
    for k in range(12):
        offer = client.offer(service.name, person=f"p{k}", about="visits")
        assert client.report(offer, 4, consent=True) == "counted"
    assert sum(service.counts(token)["main"].values()) == 12
    address = f"/v1/collections/{service.name}/estimate"  # refreshed in the background, so it can be one report behind
    wait_for(lambda: service.ask("GET", address, token=token).json["reports"] == 12)
