"""Who is let in, and what a request may be."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from support.serving_pages import HOSTILE, Entered, RunningPages, release_form, true_counts

pytestmark = pytest.mark.xdist_group("pages")

PATHS = ("/", "/release", "/design", "/verify", "/trade-off", "/collections", "/ledgers", "/ledgers/1")
POSTS = ("/verify", "/design/job", "/release/plan", "/release/review", "/release/run")


def test_a_link_lets_one_browser_in_and_the_next_takes_its_place(pages: RunningPages) -> None:
    link = pages.link()
    assert link.startswith(f"{pages.origin}/enter#token=")  # after the #, where no server and no log sees it
    token = link.partition("#token=")[2].encode()
    first = pages.ask("POST", "/session", token, headers=pages.here())
    assert first.status == 204
    flags = first.headers["set-cookie"].lower()
    assert "httponly" in flags and "samesite=strict" in flags
    assert pages.ask("POST", "/session", token, headers=pages.here()).status == 403
    assert pages.link() != link


def test_no_link_is_in_the_log_and_only_its_owner_reads_the_file(pages: RunningPages) -> None:
    """What is printed where no terminal is ends in a log."""
    pages.enter()
    log = pages.log.read_text()
    assert f"{pages.store}.link" in log and "#token=" not in log
    assert pages.link().partition("#token=")[2] not in log
    assert os.stat(f"{pages.store}.link").st_mode & 0o777 == 0o600
    assert not list(pages.folder.glob(".*.partial"))


@pytest.mark.parametrize("path", PATHS)
def test_no_page_is_shown_without_a_session(pages: RunningPages, who: Entered, path: str) -> None:
    assert pages.look(who, path).status == 200
    for cookie in ({}, {"Cookie": f"{who.cookie.partition('=')[0]}=guess"}):
        answer = pages.ask("GET", path, headers=cookie)
        assert answer.status == 403
        assert b"from the terminal" in answer.body


@pytest.mark.parametrize("path", POSTS)
def test_nothing_is_changed_for_another_site(pages: RunningPages, who: Entered, path: str) -> None:
    right = {"Cookie": who.cookie, "X-Discreet-Session": who.word, **pages.here()}
    for wrong in ({"Origin": "http://evil.test"}, {"Origin": "null"}, {"X-Discreet-Session": "guess"}):
        assert pages.ask("POST", path, b"", headers={**right, **wrong}).status == 403
    for missing in right:
        assert pages.ask("POST", path, b"", headers={k: v for k, v in right.items() if k != missing}).status == 403
    assert pages.ask("POST", path, b"", headers=right).status != 403  # the control


def test_another_name_for_this_computer_is_not_answered(pages: RunningPages, who: Entered) -> None:
    """A name that somebody points at this computer would share its origin with their pages."""
    answer = pages.ask("GET", "/design", headers={"Cookie": who.cookie, "Host": f"evil.test:{pages.port}"})
    assert answer.status == 421
    assert pages.ask("GET", "/design", headers={"Cookie": who.cookie, "Host": f"localhost:{pages.port}"}).status == 200


def test_every_answer_states_a_policy_that_allows_the_pages_own_files_alone(pages: RunningPages, who: Entered) -> None:
    for path in (*PATHS, "/enter", "/assets/pages.js", "/nowhere-else", "/ledgers/99"):
        policy = pages.look(who, path).headers["content-security-policy"]
        if path != "/nowhere-else":  # that one is the service's
            assert "default-src 'none'" in policy and "script-src 'self'" in policy
        assert "unsafe" not in policy


def test_large_bodies_are_refused_before_they_are_read(pages: RunningPages, who: Entered) -> None:
    headers = {"Cookie": who.cookie, "X-Discreet-Session": who.word, **pages.here(), "Content-Length": str(10**9)}
    assert pages.ask("POST", "/verify", b"", headers=headers).status == 413


def test_only_listed_files_are_served(pages: RunningPages, who: Entered) -> None:
    for path in ("/assets/../guarding.py", "/assets/%2e%2e/guarding.py", "/assets/vendor/README.md", "/assets/"):
        assert pages.look(who, path).status == 404
    for path in ("/release/bundles/..%2f/visits.csv", "/release/bundles/../visits.csv", "/release/bundles/x/y"):
        answer = pages.look(who, path)
        assert answer.status == 404 and b"p1,2" not in answer.body


# ------------------------------------------------------------------------------------------------ a release


def test_a_release_from_the_form_to_the_bundle(pages: RunningPages, who: Entered) -> None:
    form = release_form(pages, "first", edition="1")
    plan = pages.post(who, "/release/plan", form).body.decode()
    assert "SELECT site, COUNT(*) FROM visits GROUP BY site" in plan
    assert "discreet release" in plan and "dc.release_counts" in plan
    review = pages.post(who, "/release/review", form).body.decode()
    key = re.findall(r'"key": "([0-9a-f]+)"', review.replace("&#34;", '"'))[0]
    book = dc.Ledger.open(pages.folder / "visits.ledger")
    before = book.left().epsilon
    changed = pages.post(who, "/release/run", [*release_form(pages, "first", epsilon="2", edition="1"), ("key", key)])
    assert b"changed after you looked" in changed.body and book.left().epsilon == before
    done = pages.post(who, "/release/run", [*form, ("key", key)])
    assert done.headers["hx-redirect"] == "/release/bundles/first"
    assert book.left().epsilon == before - 1
    assert dc.verify(pages.folder / "released" / "first", ledger=book).holds
    assert b"Download the bundle" in pages.look(who, "/release/bundles/first").body
    page = pages.look(who, "/release/bundles/first/index.html")
    assert page.status == 200 and "script-src" not in page.headers["content-security-policy"]
    assert pages.look(who, "/release/bundles/first.zip").body[:2] == b"PK"


def test_the_command_and_the_python_that_are_shown_ask_the_same(pages: RunningPages, who: Entered) -> None:
    import html
    import shlex

    from discreet.release.plan.planning import plan_request
    from discreet.release.plan.request import read_request

    plan = html.unescape(pages.post(who, "/release/plan", release_form(pages, "second")).body.decode())
    words = shlex.split(re.findall(r'<code id="command">(.*?)</code>', plan, re.DOTALL)[0])
    assert words[:2] == ["discreet", "release"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert options["--domain"] == "site=1..3" and options["--epsilon"] == "1" and options["--unit"] == "person"
    python = re.findall(r'<code id="python">(.*?)</code>', plan, re.DOTALL)[0]
    asked: dict[str, object] = {}
    exec(python, {"__builtins__": {"__import__": lambda *_: _Recorder(asked)}})
    data, where = asked.pop("data"), (asked.pop("ledger"), asked.pop("out"))
    assert where == (str(pages.folder / "visits.ledger"), "second")
    made = plan_request(read_request(asked.pop("questions"), **asked), data)  # type: ignore[arg-type]
    assert made.cells == 3 and made.cost.epsilon == 1


class _Recorder:
    """Stands for the package in the lines that the page shows."""

    def __init__(self, asked: dict[str, object]) -> None:
        self._asked = asked

    def release_counts(self, questions: str, **fields: object) -> None:
        self._asked.update(fields, questions=questions)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"by": "age", "how:age": "bands", "values:age": "20,30,45,70"}, "--bands age=20,30,45,70"),
        ({"values:site": "1,2,*"}, "--domain 'site=1,2,*'"),
        ({"totals": "all", "counts": "signed"}, "--totals all"),
        ({"how:site": "discover", "values:site": "", "delta": "1e-6"}, "--discover site"),
        ({"unit": "row", "one_row_each": "yes", "how:site": "discover", "delta": "1e-6"}, "--one-row-each"),
    ],
)
def test_bands_the_rest_totals_and_discovery_are_planned(
    pages: RunningPages, who: Entered, tmp_path: Path, changed: dict[str, str], words: str
) -> None:
    """The plan is shown, and the request file that stands beside it makes the same plan."""
    import html

    form = release_form(pages, "fifth", ledger="", **changed)
    plan = html.unescape(pages.post(who, "/release/plan", form).body.decode())
    assert 'role="alert"' not in plan and words in plan, plan
    file = tmp_path / "request.toml"
    file.write_text(re.findall(r'<code id="file">\n?(.*?)</code>', plan, re.DOTALL)[0])
    asked = dc.open_request(file)
    assert asked.data == str(pages.folder / "visits.csv")
    assert dc.plan_release(asked.request, data=asked.data).cost.epsilon == 1


def test_what_is_missing_is_said_in_the_words_of_the_form(pages: RunningPages, who: Entered) -> None:
    for changed, words in (
        ({"unit": ""}, "who is protected"),
        ({"values:site": ""}, "Declare the groups of"),
        ({"max_groups": ""}, "Groups per person"),
        ({"epsilon": "-1"}, "Epsilon"),
        ({"values:site": "@/etc/passwd"}, "button next to the field"),
        ({"where": "1/0 = 1; DROP TABLE visits"}, 'role="alert"'),
    ):
        answer = pages.post(who, "/release/plan", release_form(pages, "third", **changed)).body.decode()
        assert words in answer, (changed, answer)
        is_missing = "" in changed.values()  # which is no mistake
        assert "Traceback" not in answer and f'role="{"status" if is_missing else "alert"}"' in answer


def test_whoever_confirms_several_times_at_once_pays_once(pages: RunningPages, who: Entered) -> None:
    form = release_form(pages, "often", edition="often", epsilon="1/4")
    review = pages.post(who, "/release/review", form).body.decode().replace("&#34;", '"')
    key = re.findall(r'"key": "([0-9a-f]+)"', review)[0]
    book = dc.Ledger.open(pages.folder / "visits.ledger")
    before = book.left().epsilon
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: pages.post(who, "/release/run", [*form, ("key", key)]), range(4)))
    assert all("hx-redirect" in one.headers for one in done)
    assert book.left().epsilon == before - Fraction(1, 4)


def test_what_the_budget_does_not_pay_is_not_offered(pages: RunningPages, who: Entered) -> None:
    form = release_form(pages, "sixth", epsilon="50")
    plan = pages.post(who, "/release/plan", form).body.decode()
    assert "Not enough budget" in plan and re.search(r'id="look"[^>]* disabled', plan)
    assert b'role="alert"' in pages.post(who, "/release/review", form).body


def test_two_people_release_at_once_and_the_budget_holds(pages: RunningPages) -> None:
    """Each sees that the budget would pay for theirs; the ledger pays for one."""
    dc.Ledger.create(pages.folder / "spare.ledger", dataset="visits", unit="person", epsilon=1)
    (pages.folder / "odd.ledger").unlink()
    (pages.folder / "spare.ledger").rename(pages.folder / "odd.ledger")  # in a place that the server knows
    people = [pages.enter(), pages.enter()]
    ledger = "odd.ledger"
    forms = [release_form(pages, f"both{k}", ledger=ledger, edition=f"e{k}") for k in range(2)]
    keys = []
    for who, form in zip(people, forms, strict=True):
        review = pages.post(who, "/release/review", form).body.decode().replace("&#34;", '"')
        keys.append(re.findall(r'"key": "([0-9a-f]+)"', review)[0])
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda k: pages.post(people[k], "/release/run", [*forms[k], ("key", keys[k])]), range(2)))
    assert sorted("hx-redirect" in one.headers for one in done) == [False, True]
    refused = next(one for one in done if "hx-redirect" not in one.headers)
    assert b"Not enough budget" in refused.body
    assert dc.Ledger.open(pages.folder / ledger).spent().epsilon == Fraction(1)


def test_what_fails_is_said_on_a_page(pages: RunningPages, who: Entered) -> None:
    """A ledger that is no ledger any more, and a program that trips, have a page of their own."""
    ledger = pages.folder / "visits.ledger"
    kept = ledger.read_bytes()
    try:
        ledger.write_bytes(b"not a ledger at all, but long enough to be read as something " * 40)
        answer = pages.look(who, "/ledgers/1")
        assert answer.status in (200, 409) and b"Traceback" not in answer.body
        assert b'role="alert"' in answer.body or b"cannot be shown" in answer.body
    finally:
        ledger.write_bytes(kept)
    assert pages.look(who, "/ledgers/1").status == 200


def test_hostile_names_are_text(pages: RunningPages, who: Entered) -> None:
    page = pages.look(who, "/release/new?data=odd.csv&table=odd").body.decode()
    assert HOSTILE[1] not in page and "&lt;script&gt;alert(2)" in page


def test_no_page_has_a_true_count(pages: RunningPages, who: Entered) -> None:
    """137, 89 and 85 people in three sites: a page that had counted would say so."""
    form = release_form(pages, "fourth", where="site = 1")
    for path, heading in (("/release/plan", "noise"), ("/release/review", "Release now")):
        body = pages.post(who, path, form).body.decode()
        assert heading in body
        assert not true_counts(body, pages.folder)
