"""The page on which people answer: what leaves it, what it remembers, what it refuses, and that anybody can use it."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Route, expect
from scipy.stats import chisquare

from discreet.collect.keys import PATTERN
from discreet.exact.bits import ReplayBits
from support.surveys import COUNTS, HOSTILE, LABELS, PLACES

pytestmark = pytest.mark.xdist_group("browser")

#: Where the picture of the page is kept for the documentation; nowhere unless somebody asks for it.
PICTURES = os.environ.get("DISCREET_SCREENSHOTS")


def report_in(request: Any) -> Any:
    """The one report that a request carries; nothing else may be in it."""
    content = json.loads(request.post_data)
    assert content.keys() == {"mechanism", "reports"}
    assert len(content["reports"]) == 1
    return content["reports"][0]


def answer_number(tab: Any, value: int, mechanism: str = "strong") -> Any:
    """Agree and answer with a number; gives the request that left."""
    before = len(tab.sent())
    tab.agree(mechanism)
    tab.page.get_by_label("A whole number").fill(str(value))
    tab.send()
    return tab.sent()[before]


# ------------------------------------------------------------------------------------------------ what leaves


def test_the_only_request_after_a_value_was_entered_carries_a_report(site, open_tab) -> None:
    tab = open_tab(site.answer_page("visits"))
    loaded = [one.url.removeprefix(site.origin) for one in tab.requests]
    assert {one.method for one in tab.requests} == {"GET"}
    assert all(path.startswith(("/collections/", "/browser/", "/v1/collections/visits")) for path in loaded)
    before = len(tab.requests)
    counted = sum(site.counts("visits")["strong"].values())
    tab.agree("strong")
    tab.page.get_by_label("A whole number").fill("3")
    assert len(tab.requests) == before
    assert "Thank you" in tab.send()
    tab.page.wait_for_timeout(300)
    (sent,) = tab.requests[before:]
    assert (sent.method, sent.url) == ("POST", f"{site.origin}/v1/collections/visits/reports")
    assert 0 <= report_in(sent) <= 6
    headers = sent.all_headers()
    assert re.fullmatch(PATTERN, headers["idempotency-key"])
    assert not {"cookie", "authorization", "referer"} & headers.keys()
    assert sum(site.counts("visits")["strong"].values()) == counted + 1
    assert tab.complaints == []


@pytest.mark.parametrize("value", [0, 3, 6])
def test_the_report_is_what_python_draws_from_the_same_bits(site, open_tab, value: int) -> None:
    """What leaves depends on the value through the sampler alone."""
    tab = open_tab(site.answer_page("visits"), seed=11 + value)
    sent = answer_number(tab, value, "weak")
    drawn, key = tab.page.evaluate("globalThis.given")
    table = COUNTS["weak"].kernel.table()
    assert report_in(sent) == table.sampler().draw_one(value, ReplayBits(bytes(drawn)))
    assert sent.all_headers()["idempotency-key"].endswith(bytes(key).hex())


def test_a_person_picks_an_answer(site, open_tab) -> None:
    tab = open_tab(site.answer_page("yes-or-no"))
    tab.agree()
    tab.page.get_by_role("radio", name="no").check()
    said = tab.send()
    (sent,) = tab.sent()
    assert report_in(sent) in {"yes", "no", "7"}
    assert f"Sent: {report_in(sent)}." in said
    assert tab.complaints == []


def test_a_person_clicks_a_place(site, open_tab) -> None:
    tab = open_tab(site.answer_page("home"), seed=5)
    tab.agree()
    tab.page.wait_for_selector("svg.places")
    box = tab.page.locator("svg.places").bounding_box()
    side = min(box["width"] / 5, box["height"] / 4)
    left, top = box["x"] + (box["width"] - 5 * side) / 2, box["y"] + (box["height"] - 4 * side) / 2
    tab.page.mouse.click(left + 3.5 * side, top + 0.5 * side)  # the fourth column of the northern row
    assert tab.page.get_by_role("spinbutton", name="Row").input_value() == "4"
    assert tab.page.get_by_role("spinbutton", name="Column").input_value() == "4"
    tab.send()
    (sent,) = tab.sent()
    bits = ReplayBits(bytes(tab.page.evaluate("globalThis.given[0]")))
    assert report_in(sent) == PLACES["main"].kernel.table().sampler().draw_one(3 * 5 + 3, bits)
    assert tab.complaints == []


#: Answers many times, each time as somebody else: with a memory of its own.
ANSWER_MANY = """
async ([service, name, value, times]) => {
  const { Device } = await import("/browser/discreet.js");
  const memory = () => {
    const kept = new Map();
    return { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) };
  };
  const { offers } = await new Device({ service, maximum: 9, storage: memory() }).offers(name);
  const outcomes = [];
  for (let k = 0; k < times; k++) {
    const device = new Device({ service, maximum: 9, storage: memory() });
    outcomes.push((await device.report(offers[0], value, true)).outcome);
  }
  return outcomes;
}
"""


def p_value(counts: dict[Any, int], truth: int) -> float:
    law = LABELS["main"].matrix[truth]
    found = np.array([counts.get(label, 0) for label in ("yes", "no", "7")])
    return float(chisquare(found, law * found.sum()).pvalue)


def test_reports_that_the_service_counted_have_the_law_of_the_mechanism(site, open_tab) -> None:
    """Seeded people who all answer "no": their reports, as they arrived."""
    before = site.counts("yes-or-no")["main"]
    tab = open_tab(site.answer_page("yes-or-no"), seed=2)
    outcomes = tab.page.evaluate(ANSWER_MANY, [site.origin, "yes-or-no", 1, 400])
    assert outcomes == ["counted"] * 400
    after = site.counts("yes-or-no")["main"]
    arrived = {label: after[label] - before.get(label, 0) for label in after}
    assert sum(arrived.values()) == 400
    assert p_value(arrived, 1) > 1e-3
    assert p_value(arrived, 0) < 1e-6  # not the law of another answer


# ------------------------------------------------------------------------------------------------ what is remembered


def test_the_same_answer_later_sends_the_same_report_under_another_key(site, open_tab) -> None:
    tab = open_tab(site.answer_page("visits") + "?draws=2", seed=1)
    first = answer_number(tab, 2)
    for _ in range(4):
        tab.page.reload()
        again = answer_number(tab, 2)
        assert again.post_data == first.post_data
        assert again.all_headers()["idempotency-key"] != first.all_headers()["idempotency-key"]
    assert tab.complaints == []


#: Answers with some values in turn, as one person; gives the reports and what is remembered of them.
ANSWER_IN_TURN = """
async ([service, seed, draws, values]) => {
  const { Device } = await import("/browser/discreet.js");
  reseed(seed);
  const kept = new Map();
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) };
  const device = new Device({ service, maximum: 9, storage });
  const { offers } = await device.offers("visits", draws);
  const reports = [];
  for (const value of values) reports.push((await device.report(offers[0], value, true)).report);
  const parts = JSON.parse(storage.getItem("discreet")).parts;
  return [reports, Object.values(parts).map((part) => part.answers)];
}
"""


def test_after_the_last_draw_an_earlier_report_is_sent_whatever_the_value_is(site, open_tab) -> None:
    tab = open_tab(site.answer_page("visits"), seed=4)
    tab.page.route("**/reports", lambda route: route.fulfill(status=201))
    different = 0
    for seed in range(6):
        one, kept = tab.page.evaluate(ANSWER_IN_TURN, [site.origin, seed, 2, [0, 6, 1, 2, 3, 4, 5, 1, 2, 3]])
        other, _ = tab.page.evaluate(ANSWER_IN_TURN, [site.origin, seed, 2, [0, 6, 5, 4, 3, 2, 1, 5, 4, 3]])
        assert one == other  # the same bits choose the same earlier reports, for whatever values
        assert kept == [{"0": one[0], "6": one[1]}]
        assert set(one[2:]) <= set(one[:2])
        assert one[7:] == one[2:5]  # chosen once for each value, as if it had a report of its own
        different += len(set(one[2:])) == 2
    assert different >= 2


def test_a_report_is_kept_before_it_is_sent_and_sent_again_with_the_same_bytes(site, open_tab) -> None:
    tab = open_tab(site.answer_page("visits"), seed=9)
    counted = sum(site.counts("visits")["strong"].values())
    tab.page.add_init_script("globalThis.setTimeout = (done) => queueMicrotask(done);")
    tab.page.reload()
    tab.page.route("**/reports", lambda route: route.abort())
    tab.agree("strong")
    tab.page.get_by_label("A whole number").fill("5")
    assert "keeps the report" in tab.send()
    attempts = tab.sent()
    assert len(attempts) == 4
    waiting = json.loads(tab.page.evaluate("localStorage.getItem('discreet')"))["waiting"]
    assert [one["body"] for one in waiting] == [attempts[0].post_data]
    tab.page.unroute("**/reports")
    with tab.page.expect_response("**/reports") as answer:
        tab.page.reload()
    assert answer.value.status == 201
    sent = {(one.post_data, one.all_headers()["idempotency-key"]) for one in tab.sent()}
    assert len(sent) == 1
    tab.page.wait_for_timeout(200)
    assert json.loads(tab.page.evaluate("localStorage.getItem('discreet')"))["waiting"] == []
    assert sum(site.counts("visits")["strong"].values()) == counted + 1


#: Puts the browser's clock so many days ahead.
WRONG_CLOCK = """
const RightDate = Date;
globalThis.Date = class extends RightDate {
  constructor(...given) { super(...(given.length ? given : [RightDate.now() + DAYS * 864e5])); }
};
"""


@pytest.mark.parametrize("days", [400, -20_000])
def test_a_browser_whose_clock_is_wrong_sends_the_same_report_under_a_key_of_the_services_day(
    site, open_tab, days: int
) -> None:
    tab = open_tab(site.answer_page("visits"))
    counted = sum(site.counts("visits")["strong"].values())
    tab.page.add_init_script(WRONG_CLOCK.replace("DAYS", str(days)))
    tab.page.reload()
    answer_number(tab, 3)
    expect(tab.page.get_by_role("status")).to_contain_text("Thank you")
    first, second = tab.sent()
    assert first.post_data == second.post_data
    keys = [one.all_headers()["idempotency-key"] for one in (first, second)]
    assert abs(date.fromisoformat(keys[0][:10]) - date.fromisoformat(keys[1][:10])) > timedelta(days=300)
    assert abs(date.fromisoformat(keys[1][:10]) - datetime.now(UTC).date()) <= timedelta(days=1)
    assert sum(site.counts("visits")["strong"].values()) == counted + 1
    assert json.loads(tab.page.evaluate("localStorage.getItem('discreet')"))["waiting"] == []


@pytest.mark.parametrize(("times", "said"), [(2, ""), (9, "Too many requests came from your network")])
def test_a_browser_asks_again_when_the_service_has_no_time_and_says_what_happened(
    site, open_tab, times: int, said: str
) -> None:
    tab = open_tab(site.answer_page("yes-or-no"))
    tab.page.add_init_script("globalThis.setTimeout = (done) => queueMicrotask(done);")
    refused: list[int] = []

    def busy(route: Route) -> None:
        refused.append(1)
        if len(refused) <= times:
            route.fulfill(status=429, headers={"Retry-After": "1"})
        else:
            route.continue_()

    tab.page.route("**/v1/collections/visits", busy)
    tab.page.goto(site.answer_page("visits"))
    if said:
        expect(tab.page.get_by_role("alert")).to_contain_text(said)
        assert len(refused) == 4 and tab.page.locator("#agree").is_hidden()
    else:
        tab.page.wait_for_selector("#agree:not([hidden])")
        assert len(refused) == 3


def test_reports_of_one_person_at_the_same_moment_draw_once(site, open_tab) -> None:
    """Two windows, or two clicks: the memory is read and written by one at a time."""
    tab = open_tab(site.answer_page("visits"))
    tab.page.route("**/reports", lambda route: route.fulfill(status=201))
    reports = tab.page.evaluate(
        """async (service) => {
          const { Device } = await import("/browser/discreet.js");
          const { offers } = await new Device({ service, maximum: 1 }).offers("visits");
          const all = Array.from({ length: 20 }, () => new Device({ service, maximum: 1 }).report(offers[0], 3, true));
          return (await Promise.all(all)).map((one) => one.report);
        }""",
        site.origin,
    )
    assert len(set(reports)) == 1
    assert len({one.all_headers()["idempotency-key"] for one in tab.sent()}) == 1  # counted once
    kept = json.loads(tab.page.evaluate("localStorage.getItem('discreet')"))
    assert [part["answers"] for part in kept["parts"].values()] == [{"3": reports[0]}]
    assert kept["waiting"] == []


def test_a_person_is_counted_once_whatever_they_do_later(site, open_tab) -> None:
    """A second visit says so and sends nothing; so does the module, by whatever mechanism and value."""
    tab = open_tab(site.answer_page("visits"))
    answer_number(tab, 3, "strong")
    tab.page.reload()
    expect(tab.page.locator("#status")).to_contain_text("your report was counted")
    assert not tab.page.get_by_role("button", name="I agree").is_visible()
    outcomes = tab.page.evaluate(
        """async (service) => {
          const { Device } = await import("/browser/discreet.js");
          const device = new Device({ service, maximum: 100 });
          const { offers } = await device.offers("visits");
          const found = [];
          for (const offer of offers) found.push((await device.report(offer, 5, true)).outcome);
          return [...found, (await device.report(offers[0], 5, true, true)).outcome];
        }""",
        site.origin,
    )
    assert outcomes == ["counted before", "counted before", "counted"] and len(tab.sent()) == 2


def test_costs_at_different_radii_are_not_added_up(site, open_tab) -> None:
    tab = open_tab(site.answer_page("home"))
    said = tab.page.evaluate(
        """async (service) => {
          const { Device } = await import("/browser/discreet.js");
          const near = new Device({ service, maximum: 1000, radius: 50 });
          await near.report((await near.offers("home")).offers[0], 1, true);
          const far = new Device({ service, maximum: 1000, radius: 500 });
          const [offer] = (await far.offers("home", 2)).offers;
          offer.part += "another";
          return far.report(offer, 1, true).then(() => "sent", (problem) => problem.message);
        }""",
        site.origin,
    )
    assert "up to 50 metres" in said and len(tab.sent()) == 1
    tab.page.goto(f"{site.answer_page('home')}?draws=3")
    tab.page.get_by_text("Your own limits").click()
    assert tab.page.get_by_label("Distance up to which").is_disabled()


# ------------------------------------------------------------------------------------------------ what is refused


def test_another_computer_without_tls_is_refused(site, open_tab) -> None:
    tab = open_tab(site.answer_page("visits", host="survey.test"))
    expect(tab.page.get_by_role("alert")).to_contain_text("need TLS")
    assert tab.page.locator("#agree").is_hidden()
    assert not any("/v1/" in one.url for one in tab.requests)


def test_a_memory_that_cannot_be_read_is_refused_and_not_begun_afresh(site, open_tab) -> None:
    tab = open_tab(site.answer_page("visits"))
    tab.page.evaluate("localStorage.setItem('discreet', '{broken')")
    tab.page.reload()
    expect(tab.page.get_by_role("alert")).to_contain_text("cannot be read")
    assert tab.page.locator("#agree").is_hidden()
    assert tab.page.evaluate("localStorage.getItem('discreet')") == "{broken"


def test_a_token_in_the_fragment_permits_a_report_and_stands_in_no_address(site, open_tab) -> None:
    wanted = {"right": "report", "collection": "members"}
    token = site.service.ask("POST", "/v1/tokens", wanted, site.token).json["token"]
    for fragment, said in (("", "refuses the report (status 401)"), (f"#token={token}", "")):
        tab = open_tab(site.answer_page("members") + fragment)
        tab.agree()
        tab.page.get_by_role("radio", name="yes").check()
        tab.send()
        expect(tab.page.get_by_role("alert")).to_contain_text(said)
        assert ("Thank you" in tab.page.get_by_role("status").inner_text()) == bool(fragment)
        assert not any(token in one.url.partition("#")[0] for one in tab.requests)


def test_nothing_is_drawn_before_the_person_agreed(site, open_tab) -> None:
    tab = open_tab(site.answer_page("visits"), seed=3)
    expect(tab.page.get_by_label("A whole number")).to_have_count(0)
    tab.agree("strong")
    tab.page.get_by_label("A whole number").fill("3")
    assert tab.page.evaluate("globalThis.given.length") == 0
    refused = tab.page.evaluate(
        """async (service) => {
          const { Device } = await import("/browser/discreet.js");
          const device = new Device({ service, maximum: 9 });
          const { offers } = await device.offers("visits");
          return device.report(offers[0], 3).catch((problem) => problem.message);
        }""",
        site.origin,
    )
    assert "agreed" in refused
    assert tab.page.evaluate("globalThis.given.length") == 0
    assert tab.sent() == []


def test_one_visit_sends_one_report(site, open_tab) -> None:
    """No second draw after the first was seen."""
    tab = open_tab(site.answer_page("visits"))
    answer_number(tab, 3)
    expect(tab.page.get_by_role("button")).to_have_count(0)
    tab.page.evaluate("document.getElementById('answer').requestSubmit()")
    tab.page.wait_for_timeout(200)
    assert len(tab.sent()) == 1


def test_the_persons_own_maximum_counts_all_mechanisms_and_draws(site, open_tab) -> None:
    tab = open_tab(f"{site.answer_page('visits')}?draws=2")
    tab.page.get_by_text("Your own limits").click()
    tab.page.get_by_label("Most epsilon").fill("12.5")  # strong costs 0.6 a draw, weak 6
    tab.page.get_by_label("Most epsilon").press("Tab")
    tab.page.get_by_role("radio", name="weak").check()
    assert tab.page.get_by_role("button", name="I agree").is_enabled()
    answer_number(tab, 3, "strong")
    tab.page.reload()
    tab.page.get_by_role("radio", name="weak").check()
    assert not tab.page.get_by_role("button", name="I agree").is_enabled()
    assert "too much" in tab.page.locator("#cost").inner_text()
    tab.page.get_by_role("radio", name="strong").check()
    assert tab.page.get_by_role("button", name="I agree").is_enabled()  # paid for already
    tab.page.goto(site.answer_page("home"))
    tab.page.wait_for_selector("#agree:not([hidden])")
    assert "1.2 of it is spent" in tab.page.locator("#cost").inner_text()


@pytest.mark.parametrize("place", ["visits", "visits/mechanisms/weak/table"])
def test_a_service_that_states_less_than_the_table_gives_away_is_refused(site, open_tab, place: str) -> None:
    def changed(route: Route) -> None:
        found = route.fetch()
        content = found.json()
        if place == "visits":
            content["mechanisms"][1]["local_epsilon"] *= 0.999
        else:
            content["palette"][-1] = str(int(content["palette"][-1]) // 2)
        route.fulfill(response=found, json=content)

    tab = open_tab(site.answer_page("yes-or-no"))
    tab.page.route(f"**/v1/collections/{place}", changed)
    tab.page.goto(site.answer_page("visits"))
    expect(tab.page.get_by_role("alert")).to_contain_text("gives away more than the service states")
    assert tab.page.locator("#agree").is_hidden()
    tab.page.unroute(f"**/v1/collections/{place}")
    tab.page.reload()
    tab.page.wait_for_selector("#agree:not([hidden])")


# ------------------------------------------------------------------------------------------------ the page itself


def test_hostile_texts_are_shown_and_nothing_of_them_runs(site, open_tab) -> None:
    tab = open_tab(site.answer_page("hostile"))
    assert tab.page.title() == "</title><script>alert(4)</script>"
    assert tab.page.locator("#question").inner_text() == "<b onmouseover=alert(5)>Which?</b>"
    tab.page.locator("#question").hover()
    tab.agree()
    for label in HOSTILE:
        assert tab.page.get_by_text(label, exact=True).is_visible()
    tab.page.get_by_text(HOSTILE[0], exact=True).click()
    tab.send()
    assert report_in(tab.sent()[0]) in HOSTILE
    assert tab.complaints == []
    assert all(one.url.startswith(site.origin) for one in tab.requests)


def test_the_policy_stops_what_does_not_belong_to_the_page(site, open_tab) -> None:
    tab = open_tab(site.answer_page("visits"))
    tab.page.evaluate(
        """() => {
          const script = document.createElement("script");
          try { script.textContent = "globalThis.ran = true"; document.body.append(script); } catch {}
          const image = document.createElement("img");
          image.src = "http://127.0.0.2:9/pixel.png";
          document.body.append(image);
        }"""
    )
    tab.page.wait_for_timeout(200)
    assert tab.page.evaluate("globalThis.ran") is None
    assert any("Content Security Policy" in one or "TrustedScript" in one for one in tab.complaints)
    assert any("img-src" in one or "pixel.png" in one for one in tab.complaints)
    headers = site.service.ask("GET", "/collections/visits/answer").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]


def test_the_page_works_with_a_keyboard_alone(site, open_tab) -> None:
    tab = open_tab(site.answer_page("home"))
    press = tab.page.keyboard.press
    press("Tab")  # the one choice
    for _ in range(10):
        if tab.page.evaluate("document.activeElement.id") == "consent":
            break
        press("Tab")
    press("Enter")
    tab.page.wait_for_selector("svg.places")
    tab.page.keyboard.type("2")
    press("Tab")
    tab.page.keyboard.type("5")
    press("Enter")
    expect(tab.page.get_by_role("status")).to_contain_text("Thank you")
    assert len(tab.sent()) == 1
    assert tab.complaints == []


@pytest.mark.parametrize("name", ["visits", "yes-or-no", "home", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_in_light_and_dark_and_every_field_has_a_label(site, open_tab, name, scheme) -> None:
    tab = open_tab(site.answer_page(name), color_scheme=scheme, viewport={"width": 340, "height": 640})
    for _ in range(2):
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 340
        fields = tab.page.locator("input:visible")
        for k in range(fields.count()):
            assert fields.nth(k).evaluate(
                "(field) => field.labels.length === 1 && field.labels[0].innerText.trim() !== ''"
            )
        if tab.page.locator("#agree").is_visible():
            if PICTURES and (name, scheme) == ("visits", "light"):
                tab.page.screenshot(path=Path(PICTURES) / "answer-phone.png", full_page=True)
            tab.agree("strong" if name == "visits" else None)
    paper = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = tab.page.evaluate("getComputedStyle(document.body).color")
    assert contrast(paper, ink) >= 7
    assert (luminance(paper) < luminance(ink)) == (scheme == "dark")
    assert tab.complaints == []


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
