"""The page that verifies a matrix, a mechanism, a p-table or a bundle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, QueryParams, UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import Altered, DiscreetError, InvalidInput, NotPrivate
from ...explanation import explain
from ...ledger.ledger import Ledger
from ...mechanism import Mechanism
from ...privacy.certificate import Certificate
from ...report import Bullets, Picture, Report, Section
from ...sources.packed import unpack_zip
from ...verification import FileVerdict, Refutation, verify, verify_text
from ..frame.access import MAX_BODY_BYTES
from ..frame.answers import page, piece
from ..frame.jobs import Jobs, Step
from ..frame.rendering import refusal, render, report_body
from ..frame.searches import Searches

#: Limits of a bundle: the number of files, and the bytes of all of them unpacked.
MAX_FILES, MAX_UNPACKED_BYTES = 400, 5 * MAX_BODY_BYTES

#: Maximum number of true values of a table for which delta is computed at a hundred epsilons.
MAX_CURVE_TRUTHS = 60


@dataclass(frozen=True, eq=False)
class Submission:
    """Uploaded files, the claim to verify, and the address of the ledger."""

    files: dict[str, bytes]
    epsilon: str
    delta: str
    ledger: str | None


def judge(submission: Submission) -> Iterator[Step]:
    """Judge the uploaded files; the result is the title and the body of a report."""
    yield 0, 1, "Judging", None
    report = _verdict_report(submission)
    yield 1, 1, "Done", (report.title, str(report_body(report)))


class VerifyPage:
    """``/verify``: files of strangers are read in a separate process, within bounds.

    Parameters
    ----------
    jobs
        The jobs in which they are judged.
    ledgers
        The ledgers of this server, by name: a bundle can be compared with the one that paid for it.
    """

    def __init__(self, jobs: Jobs, ledgers: dict[str, str]) -> None:
        self._ledgers = ledgers
        self._searches: Searches[Submission, tuple[str, str]] = Searches(
            jobs, "/verify/job", _empty_submission, judge, self._result_html, lambda _: "/verify"
        )

    def routes(self) -> list[Route]:
        return [
            Route("/verify", self.page),
            Route("/verify", self.judge, methods=["POST"]),
            *self._searches.routes(),
        ]

    def page(self, request: Request) -> Response:
        """Show the form."""
        return page(
            request, "verify.html", title="Check a claim again", eyebrow="Verify", tab="/verify", charts=True,
            ledgers=list(self._ledgers),
        )  # fmt: skip

    async def judge(self, request: Request) -> Response:
        """Start to judge the uploaded files."""
        try:
            async with request.form(max_files=MAX_FILES, max_fields=20) as form:
                files = await _files(form)
                fields = {name: str(form.get(name, "")).strip()[:200] for name in ("epsilon", "delta", "ledger")}
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))
        submission = Submission(files, fields["epsilon"], fields["delta"], self._ledgers.get(fields["ledger"]))
        answer = await run_in_threadpool(self._searches.begin, submission, request)
        files.clear()  # the process that judges them has a copy
        return answer

    def _result_html(self, submission: Submission) -> str:
        verdict = self._searches.get(submission)
        assert verdict is not None  # only a finished search is shown
        return render("verdict.html", title=verdict[0], body=Markup(verdict[1]))


def _empty_submission(_: QueryParams) -> Submission:
    """Return the submission of an address, which holds no files."""
    return Submission({}, "", "", None)


def _verdict_report(submission: Submission) -> Report:
    files = submission.files
    if not files:
        raise InvalidInput("no file was given.", "Drop one on the field, or choose it.")
    name = next(iter(files))
    if len(files) == 1 and not name.endswith(".zip"):
        claim = {"epsilon": submission.epsilon or None, "delta": submission.delta or None}
        try:
            return _with_meaning(verify_text(files[name], name, **claim))
        except (Altered, NotPrivate) as problem:
            return Refutation(name, name, str(problem)).report()
    with _folder(files) as folder:
        ledger = None if submission.ledger is None else Ledger.open(submission.ledger)
        try:
            report = verify(folder, ledger=ledger).report()
        except DiscreetError as problem:
            message = str(problem).replace(str(folder), f"the bundle {folder.name}")
            raise InvalidInput(message, argument="files") from None
        return replace(report, title=report.title.replace(str(folder), folder.name))


def _with_meaning(verdict: FileVerdict) -> Report:
    """Return the verdict, its meaning, and a chart of delta for each epsilon."""
    report = verdict.report()
    sections = [Section("What it means", (Bullets(_meaning(verdict)),))]
    truths = getattr(verdict.inputs, "size", None)
    if truths is not None and truths <= MAX_CURVE_TRUTHS:
        curve = Picture("delta", {"subjects": {verdict.name: verdict.subject}}, "The least delta for each epsilon.")
        sections.append(Section("If epsilon may be exceeded sometimes", (curve,), "pages"))
    first, *rest = report.sections
    return replace(report, sections=(first, *sections, *rest))


def _meaning(verdict: FileVerdict) -> tuple[str, ...]:
    """Explain the guarantee: that of a mechanism as it states it, else the measured one."""
    if isinstance(verdict.subject, Mechanism):
        return explain(verdict.subject).sentences
    ratio = verdict.ratio if isinstance(verdict.ratio, Fraction) else None
    return explain(Certificate(verdict.notion, verdict.epsilon, 0.0, ratio, "measured")).sentences


async def _files(form: FormData) -> dict[str, bytes]:
    """Return the uploaded files by their names without folders."""
    uploads = [file for file in form.getlist("files") if isinstance(file, UploadFile) and file.filename]
    return _by_file_name([((file.filename or "").replace("\\", "/"), await file.read()) for file in uploads])


def _by_file_name(files: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return files by their names without folders; refuse duplicate names, which programs resolve differently."""
    by_name: dict[str, bytes] = {}
    for path, content in files:
        name = _file_name(path)
        if name in by_name:
            raise InvalidInput("two files have one name.", "Drop one bundle, or one file.")
        by_name[name] = content
    return by_name


def _file_name(path: str) -> str:
    """Return the name of a file without its folders; refuse one that cannot be used."""
    name = PurePosixPath(path).name
    if not 0 < len(name.encode()) <= 200 or name in (".", "..") or not name.isprintable():
        raise InvalidInput("a file has a name that cannot be used.", "Drop the files of a bundle as they were written.")
    return name


@contextmanager
def _folder(files: dict[str, bytes]) -> Iterator[Path]:
    """Write the files to a temporary folder that only this process can read."""
    with TemporaryDirectory(prefix="discreet-") as directory:
        archive = next((Path(name).stem for name in files if name.endswith(".zip")), "")
        folder = Path(directory) / (archive if re.fullmatch(r"[\w-][\w.-]{0,80}", archive) else "that was dropped")
        folder.mkdir()
        for name, content in _unpack(files).items():
            (folder / name).write_bytes(content)
        yield folder


def _unpack(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a bundle, unpacked within bounds if it is an archive."""
    (name, content), *more = files.items()
    if more or not name.endswith(".zip"):
        return files
    return _by_file_name(unpack_zip(content, name, MAX_FILES, MAX_UNPACKED_BYTES))
