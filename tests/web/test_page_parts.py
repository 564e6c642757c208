"""Designs by their address, jobs that can be stopped, and files that are judged."""

from __future__ import annotations

import asyncio
import io
import json
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import discreet as dc
from discreet.web.frame.jobs import Jobs
from discreet.web.frame.settings import PageSettings
from discreet.web.pages.design import DesignFields, closed_form_design
from discreet.web.pages.ptables import ENDINGS, PTableFields
from support.refusals import refused
from support.serving_pages import Entered, RunningPages, quiet_site

pytestmark = pytest.mark.xdist_group("pages")


def multipart(files: dict[str, bytes], fields: dict[str, str] | None = None) -> tuple[bytes, str]:
    mark = "discreet-test"
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in (fields or {}).items()
    ]
    for name, content in files.items():
        head = f'--{mark}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    return b"".join([*parts, f"--{mark}--\r\n".encode()]), f"multipart/form-data; boundary={mark}"


def judged(pages: RunningPages, who: Entered, files: dict[str, bytes], **fields: str) -> str:
    body, kind = multipart(files, fields)
    headers = {"Cookie": who.cookie, "X-Discreet-Session": who.word, **pages.here(), "Content-Type": kind}
    answer = pages.ask("POST", "/verify", body, headers=headers)
    assert answer.status == 200, answer
    return _until_done(pages, who, answer.body.decode(), "/verify/job/")


def test_a_matrix_a_mechanism_and_a_bundle_are_judged(pages: RunningPages, who: Entered) -> None:
    matrix = judged(pages, who, {"m.csv": b"0.75,0.25\n0.25,0.75\n"})
    assert "ε = 1.09862" in matrix and "data-chart" in matrix
    assert "by at most 3." in matrix
    claimed = judged(pages, who, {"m.csv": b"0.75,0.25\n0.25,0.75\n"}, epsilon="1")
    assert "does NOT hold" in claimed
    saved = json.dumps(dc.geometric(4, epsilon=1).to_json()).encode()
    proved = judged(pages, who, {"m.json": saved})
    assert "DOES NOT HOLD" not in proved and "alert" not in proved and "ε = 1" in proved
    altered = saved.replace(b'"n": 4', b'"n": 5')
    assert altered != saved and "DOES NOT HOLD" in judged(pages, who, {"m.json": altered})


def test_a_bundle_is_judged_from_its_files_or_its_archive(pages: RunningPages, who: Entered) -> None:
    book = dc.Ledger.create(pages.folder / "other.ledger", dataset="visits", unit="person", epsilon=1)
    released = dc.release_counts(
        "SELECT site, COUNT(*) FROM visits GROUP BY site", data=pages.folder / "visits.csv", unit="person",
        domain={"site": range(1, 4)}, max_groups=1, epsilon=1, ledger=book,
    )  # fmt: skip
    folder = released.save(pages.folder / "bundle")
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"bundle/{name}", content)
    for given, named in ((files, "that was dropped"), ({"by_site.zip": packed.getvalue()}, "by_site")):
        assert f"The bundle {named} holds" in judged(pages, who, given)
    files["counts.csv"] = files["counts.csv"].replace(b"1,", b"2,", 1)
    assert "DOES NOT HOLD" in judged(pages, who, files)


def test_strangers_files_are_refused_and_the_server_goes_on(pages: RunningPages, who: Entered) -> None:
    """Numbers that take forever to write out, cells of a megabyte, names that lead elsewhere."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("..", b"x")
        archive.writestr("n" * 300, b"x")
    for files in (
        {"bad.csv": b"1e99999999,1\n1,0\n"}, {"bad.csv": b"1e-9999,1\n1,0\n"}, {"bad.csv": b"1," + b"9" * 200_000},
        {"bad.zip": packed.getvalue()}, {"..": b"x", "a": b"y"}, {"request.json": b"{}", "counts.csv": b""},
    ):  # fmt: skip
        answer = judged(pages, who, files)
        assert 'role="alert"' in answer or "DOES NOT HOLD" in answer, files
        assert "/tmp/" not in answer
    assert pages.ask("GET", "/health").status == 200
    for path in ("/design?n=100000", "/design?n=" + "9" * 5000, "/ledgers/" + "9" * 5000):
        assert pages.look(who, path).status in (200, 404)


@pytest.mark.parametrize(
    "files", [{}, {"x.bin": b"\x00\x01"}, {"x.zip": b"PK nonsense"}, {"x.csv": b"<script>alert(1)</script>"}]
)
def test_other_files_are_refused_in_words(pages: RunningPages, who: Entered, files: dict[str, bytes]) -> None:
    answer = judged(pages, who, files)
    assert 'role="alert"' in answer and "<script>" not in answer


def test_an_archive_that_unpacks_to_too_much_is_refused(pages: RunningPages, who: Entered) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"0" * 200_000_000)
    assert len(packed.getvalue()) < 1_000_000
    assert "holds too much" in judged(pages, who, {"bomb.zip": packed.getvalue()})


# ------------------------------------------------------------------------------------------------ designs


def test_the_address_reproduces_the_design(pages: RunningPages, who: Entered) -> None:
    fields = DesignFields(n="12", epsilon="0.5", properties=("F",), loss="L0")
    page = pages.look(who, fields.address).body.decode()
    assert 'value="12"' in page and "design -n 12 --epsilon 0.5 --loss L0 --properties F" in page
    beside = pages.look(who, f"/design/beside?{fields.query}").body.decode()
    assert "this design" in beside and "explicit fair" in beside
    saved = pages.look(who, f"/design/file/mechanism.json?{fields.query}").body
    loaded = dc.design(12, epsilon="0.5", properties=["F"])
    assert json.loads(saved) == json.loads(json.dumps(loaded.to_json()))
    python = pages.look(who, f"/design/file/design.py?{fields.query}").body.decode()
    scope: dict[str, object] = {}
    exec(python.replace('m.save("mechanism.json")', ""), scope)
    assert scope["m"] == loaded


@pytest.mark.parametrize("prior", ["uniform", "triangular", "worst case"])
def test_the_python_of_a_design_is_the_design(prior: str) -> None:
    fields = DesignFields(n="3", epsilon="1", prior=prior, delta="1/100" if prior == "uniform" else "0")
    options = fields.options
    scope: dict[str, object] = {}
    exec(fields.python.replace('m.save("mechanism.json")', ""), scope)
    assert scope["m"] == dc.design(options.pop("n"), **options)


def test_closed_forms_are_found_at_once_and_programs_are_not() -> None:
    assert closed_form_design(DesignFields(n="20")) is not None
    assert closed_form_design(DesignFields(n="20", loss="L1", properties=("WH", "CM"))) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("n", "x"), ("n", "-3"), ("epsilon", "much"), ("loss", "L9x"), ("prior", "mine"), ("delta", "2")],
)
def test_a_wrong_field_is_said_where_the_design_would_be(
    pages: RunningPages, who: Entered, field: str, value: str
) -> None:
    answer = pages.look(who, f"/design/result?{field}={value}")
    assert answer.status == 200 and b'role="alert"' in answer.body


def test_a_program_is_watched_and_its_files_can_be_had(pages: RunningPages, who: Entered) -> None:
    fields = DesignFields(n="6", loss="L1", properties=("WH",), epsilon="0.7")
    assert b"linear program" in pages.look(who, f"/design/result?{fields.query}").body
    shown = pages.post(who, f"/design/job?{fields.query}").body.decode()
    shown = _until_done(pages, who, shown, "/design/job/")
    assert "Which properties it has" in shown and ("costs" in shown or "free" in shown)
    saved = json.loads(pages.look(who, f"/design/file/mechanism.json?{fields.query}").body)
    assert saved == json.loads(json.dumps(dc.design(6, epsilon="0.7", loss="L1", properties=["WH"]).to_json()))


def test_a_p_table_is_designed_and_can_be_had_as_a_file(pages: RunningPages, who: Entered, tmp_path: Path) -> None:
    fields = PTableFields(epsilon="1.5", reach="3", stay="0.5")
    shown = pages.post(who, f"/design/p-table/job?{fields.query}").body.decode()
    shown = _until_done(pages, who, shown, "/design/p-table/job/")
    assert "discreet design --ptable --epsilon 1.5 --reach 3" in shown
    for layout, ending in ENDINGS.items():
        answer = pages.look(who, f"/design/p-table/file/{layout}?{fields.query}")
        # SuperSTAR's matrix has no place for the noise of zeros
        assert answer.status == (409 if layout == "superstar" else 200), (layout, answer)
        (tmp_path / f"{layout}{ending}").write_bytes(answer.body)
    read = dc.read_ptable(tmp_path / "ptable.csv")
    assert read.blocks == dc.design_ptable("1.5", 3, stay="0.5", keys=256).blocks
    refused = pages.post(who, "/design/p-table/job?epsilon=x&reach=3&stay=0.5").body.decode()
    assert 'role="alert"' in _until_done(pages, who, refused, "/design/p-table/job/")


def _until_done(pages: RunningPages, who: Entered, shown: str, at: str) -> str:
    for _ in range(200):
        if "progress" not in shown:
            return shown
        time.sleep(0.2)
        name = shown.partition(at)[2].partition('"')[0]
        shown = pages.look(who, f"{at}{name}").body.decode()
    raise AssertionError("it takes too long")


def test_a_job_is_cancelled_and_its_process_ends() -> None:
    jobs = Jobs()
    job = jobs.start(_endless, None, "somebody")
    assert job.process.is_alive()
    assert jobs.find(job.name, "somebody else") is None and jobs.cancel(job.name, "somebody else") is None
    cancelled = jobs.cancel(job.name, "somebody")
    assert cancelled is not None and cancelled.problem is not None and "cancelled" in str(cancelled.problem)
    assert not job.process.is_alive()
    first, second = jobs.start(_endless, None, "ann"), jobs.start(_endless, None, "bob")
    with refused(dc.errors.InvalidInput, token="2 designs"):
        jobs.start(_endless, None, "eve")
    third = jobs.start(_endless, None, "ann")  # in place of what she asked before
    assert not first.running and second.running and third.running
    jobs.close()
    assert not second.process.is_alive() and not third.process.is_alive()


def test_jobs_end_when_the_server_stops() -> None:
    site = quiet_site(PageSettings(("127.0.0.1:1",)))
    job = site._jobs.start(_endless, None, "somebody")
    assert job.process.is_alive()
    with ThreadPoolExecutor(1) as pool:  # a loop of its own
        pool.submit(lambda: asyncio.run(site({"type": "lifespan"}, None, None))).result()  # type: ignore[arg-type]
    assert not job.process.is_alive()


def test_a_job_that_nobody_waits_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.web.frame.jobs.UNWATCHED_SECONDS", 0.5)
    job = Jobs().start(_endless, None, "somebody")
    for _ in range(100):
        if not job.process.is_alive():
            break
        time.sleep(0.1)
    assert not job.process.is_alive() and "nobody waited" in str(job.problem)


def _endless(_: object):
    while True:
        time.sleep(0.05)
        yield 0, 1, "waiting", None
