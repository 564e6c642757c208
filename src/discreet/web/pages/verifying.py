"""The page on which a matrix, a mechanism, a p-table or a bundle is judged."""

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
from ..frame.answers import page, piece
from ..frame.guarding import MOST_BYTES
from ..frame.jobs import Jobs, Step
from ..frame.rendering import refusal, render, report_body
from ..frame.searches import Searches

#: The largest number of files of a bundle, and of bytes of all of them when they are unpacked.
MAX_FILES, MAX_UNPACKED_BYTES = 400, 5 * MOST_BYTES

#: A table with at most so many truths also has its curve of delta: it is worked out for a hundred epsilons.
MOST_FOR_CURVE = 60


@dataclass(frozen=True, eq=False)
class Submitted:
    """What was dropped, the claim to judge, and where the ledger is."""

    files: dict[str, bytes]
    epsilon: str
    delta: str
    ledger: str | None


def judge(submitted: Submitted) -> Iterator[Step]:
    """The verdict on what was dropped, as a piece of a page: a title and what stands under it."""
    yield 0, 1, "Judging", None
    report = _judged(submitted)
    yield 1, 1, "Done", (report.title, str(report_body(report)))


class VerifyPage:
    """``/verify``: strangers' files are looked at in a process of their own, within bounds.

    Parameters
    ----------
    jobs
        Where they are looked at.
    ledgers
        The ledgers that this server was started with, by name: a bundle can be held against the one that paid for it.
    """

    def __init__(self, jobs: Jobs, ledgers: dict[str, str]) -> None:
        self._ledgers = ledgers
        self._searches: Searches[Submitted, tuple[str, str]] = Searches(
            jobs, "/verify/job", _nothing, judge, self._shown, lambda _: "/verify"
        )

    def routes(self) -> list[Route]:
        return [
            Route("/verify", self.page),
            Route("/verify", self.judge, methods=["POST"]),
            *self._searches.routes(),
        ]

    def page(self, request: Request) -> Response:
        """The form."""
        return page(
            request, "verify.html", title="Check a claim again", eyebrow="Verify", here="/verify", charts=True,
            ledgers=list(self._ledgers),
        )  # fmt: skip

    async def judge(self, request: Request) -> Response:
        """Begin to judge what was dropped."""
        try:
            async with request.form(max_files=MAX_FILES, max_fields=20) as form:
                files = await _files(form)
                fields = {name: str(form.get(name, "")).strip()[:200] for name in ("epsilon", "delta", "ledger")}
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))
        submitted = Submitted(files, fields["epsilon"], fields["delta"], self._ledgers.get(fields["ledger"]))
        answer = await run_in_threadpool(self._searches.begin, submitted, request)
        files.clear()  # the process that judges them has its own
        return answer

    def _shown(self, submitted: Submitted) -> str:
        found = self._searches.get(submitted)
        assert found is not None  # it was judged
        return render("verdict.html", title=found[0], body=Markup(found[1]))


def _nothing(_: QueryParams) -> Submitted:
    """What an address alone asks to be judged."""
    return Submitted({}, "", "", None)


def _judged(submitted: Submitted) -> Report:
    files = submitted.files
    if not files:
        raise InvalidInput("no file was given.", "Drop one on the field, or choose it.")
    name = next(iter(files))
    if len(files) == 1 and not name.endswith(".zip"):
        claim = {"epsilon": submitted.epsilon or None, "delta": submitted.delta or None}
        try:
            return _with_meaning(verify_text(files[name], name, **claim))
        except (Altered, NotPrivate) as problem:
            return Refutation(name, name, str(problem)).report()
    with _folder(files) as folder:
        ledger = None if submitted.ledger is None else Ledger.open(submitted.ledger)
        try:
            report = verify(folder, ledger=ledger).report()
        except DiscreetError as problem:
            said = str(problem).replace(str(folder), f"the bundle {folder.name}")
            raise InvalidInput(said, argument="files") from None
        return replace(report, title=report.title.replace(str(folder), folder.name))


def _with_meaning(found: FileVerdict) -> Report:
    """The verdict, what it means, and delta for each epsilon as a picture."""
    report = found.report()
    added = [Section("What it means", (Bullets(_meaning(found)),))]
    truths = getattr(found.inputs, "size", None)
    if truths is not None and truths <= MOST_FOR_CURVE:
        curve = Picture("delta", {"subjects": {found.name: found.subject}}, "The least delta for each epsilon.")
        added.append(Section("If epsilon may be exceeded sometimes", (curve,), "pages"))
    first, *rest = report.sections
    return replace(report, sections=(first, *added, *rest))


def _meaning(found: FileVerdict) -> tuple[str, ...]:
    """What the guarantee is in plain words: of a mechanism what it states, else what was measured."""
    if isinstance(found.subject, Mechanism):
        return explain(found.subject).sentences
    ratio = found.ratio if isinstance(found.ratio, Fraction) else None
    return explain(Certificate(found.notion, found.epsilon, 0.0, ratio, "measured")).sentences


async def _files(form: FormData) -> dict[str, bytes]:
    """What was dropped, by the names of the files without their folders."""
    given = [one for one in form.getlist("files") if isinstance(one, UploadFile) and one.filename]
    return _by_plain_name([((one.filename or "").replace("\\", "/"), await one.read()) for one in given])


def _by_plain_name(files: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return files by their names without folders, and refuse two of one name: programs differ on which one counts."""
    by_name: dict[str, bytes] = {}
    for path, content in files:
        name = _plain_name(path)
        if name in by_name:
            raise InvalidInput("two files have one name.", "Drop one bundle, or one file.")
        by_name[name] = content
    return by_name


def _plain_name(path: str) -> str:
    """The name of a file without its folders, such as it may be called here."""
    name = PurePosixPath(path).name
    if not 0 < len(name.encode()) <= 200 or name in (".", "..") or not name.isprintable():
        raise InvalidInput("a file has a name that cannot be used.", "Drop the files of a bundle as they were written.")
    return name


@contextmanager
def _folder(files: dict[str, bytes]) -> Iterator[Path]:
    """The files in a folder that only this process can read, and that is gone afterwards."""
    with TemporaryDirectory(prefix="discreet-") as made:
        archive = next((Path(name).stem for name in files if name.endswith(".zip")), "")
        folder = Path(made) / (archive if re.fullmatch(r"[\w-][\w.-]{0,80}", archive) else "that was dropped")
        folder.mkdir()
        for name, content in _unpacked(files).items():
            (folder / name).write_bytes(content)
        yield folder


def _unpacked(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a bundle, from an archive if it is one; names without folders, sizes within bounds."""
    (name, content), *more = files.items()
    if more or not name.endswith(".zip"):
        return files
    return _by_plain_name(unpack_zip(content, name, MAX_FILES, MAX_UNPACKED_BYTES))
