"""The page on which a matrix, a mechanism, a p-table or a bundle is judged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from zipfile import BadZipFile, ZipFile

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import Altered, DiscreetError, InvalidInput, NotPrivate, UnreadableFile
from ...explanation import explain
from ...ledger.ledger import Ledger
from ...mechanism import Mechanism
from ...privacy.certificate import Certificate
from ...report import Bullets, Picture, Report, Result, Section
from ...verification import FileVerdict, Refutation, verify, verify_text
from ..frame.answers import page, piece
from ..frame.guarding import MOST_BYTES
from ..frame.rendering import refusal, report_body

#: So many files a bundle may have, and so many bytes they may have when they are unpacked.
MOST_FILES, MOST_UNPACKED = 400, 5 * MOST_BYTES

#: A table with at most so many truths also has its curve of delta: it is worked out for a hundred epsilons.
MOST_FOR_CURVE = 60


class VerifyPage:
    """``/verify``.

    Parameters
    ----------
    ledgers
        The ledgers that this server was started with, by name: a bundle can be held against the one that paid for it.
    """

    def __init__(self, ledgers: dict[str, str]) -> None:
        self._ledgers = ledgers

    def routes(self) -> list[Route]:
        return [Route("/verify", self.page), Route("/verify", self.judge, methods=["POST"])]

    def page(self, request: Request) -> Response:
        """The form."""
        return page(
            request, "verify.html", title="Check a claim again", eyebrow="Verify", here="/verify", charts=True,
            ledgers=list(self._ledgers),
        )  # fmt: skip

    async def judge(self, request: Request) -> Response:
        """The verdict on what was dropped."""
        try:
            async with request.form(max_files=MOST_FILES, max_fields=20) as form:
                files = await _files(form)
                fields = {name: str(form.get(name, "")).strip()[:200] for name in ("epsilon", "delta", "ledger")}
                found = await run_in_threadpool(self._judged, files, fields)
        except DiscreetError as problem:
            return piece("as_it_is.html", content=refusal(problem))
        return piece("verdict.html", report=found, body=report_body(found))

    def _judged(self, files: dict[str, bytes], fields: dict[str, str]) -> Report:
        if not files:
            raise InvalidInput("no file was given.", "Drop one on the field, or choose it.")
        name = next(iter(files))
        if len(files) == 1 and not name.endswith(".zip"):
            try:
                found = verify_text(files[name], name, epsilon=fields["epsilon"] or None, delta=fields["delta"] or None)
            except (Altered, NotPrivate) as problem:
                return Refutation(name, name, str(problem)).report()
            return _with_meaning(found)
        with _folder(files) as folder:
            ledger = self._ledgers.get(fields["ledger"])
            bundle: Result = verify(folder, ledger=None if ledger is None else Ledger.open(ledger))
            return replace(bundle.report(), title=bundle.report().title.replace(str(folder), folder.name))


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
    found = {}
    for one in given:
        name = PurePosixPath((one.filename or "").replace("\\", "/")).name
        if not name or name in found or not name.isprintable():
            raise InvalidInput("two files have one name, or one has none.", "Drop one bundle, or one file.")
        found[name] = await one.read()
    return found


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
    try:
        with ZipFile(BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > MOST_UNPACKED:
                raise InvalidInput(
                    f"{name} holds too much.", "Unpack it, and use the command line: discreet verify FOLDER."
                )
            return {PurePosixPath(entry.filename).name: archive.read(entry) for entry in entries}
    except (BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError):
        raise UnreadableFile(f"{name} cannot be unpacked.", "Drop the files of the bundle themselves.") from None
