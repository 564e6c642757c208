"""The pages of a release, from the columns of a table to the bundle. No page shows a true count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import DiscreetError, InvalidInput
from ...ledger.budget import amount_text
from ...ledger.ledger import Ledger
from ...optimise.families import FAMILIES
from ...release.bundle.open import open_bundle
from ...release.bundle.released import Release
from ...release.counts import LedgerDecision
from ...release.outputs.export import export
from ...report import Picture, Report
from ..frame.answers import page, piece
from ..frame.rendering import chart, refusal, report_body
from .release_data import AvailableData, PlannedRelease, budget_text, missing_ledger
from .release_form import (
    FOLDER_NAME,
    PERIOD_TITLES,
    QUANTILE_TITLES,
    TABLES_TITLES,
    WAY_TITLES,
    FilledForm,
    IncompleteForm,
    ReleaseForm,
)
from .release_preview import TOTAL, large_epsilon_note, preview_of, summary

#: Extension of a bundle's file -> media type.
MEDIA_TYPES = {".html": "text/html", ".json": "application/json", ".csv": "text/csv"}

EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

#: File of a bundle -> its meaning for a reader who chooses one.
FILE_MEANINGS = {
    "counts.csv": "the noisy counts, with the error of each",
    "counts_rounded.csv": "whole counts that add up, as the page shows them",
    "quantiles.csv": "medians and other quantiles, with their intervals",
    "GUARANTEE.md": "what is guaranteed, on one page",
    "release.json": "everything about the release, for programs",
}

#: Maximum number of forms that are kept for "Ask something else".
MAX_KEPT_FORMS = 100

#: Content security policy of a bundle's page, which has its style inside and loads nothing.
BUNDLE_CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; sandbox"
)


@dataclass(frozen=True)
class Review:
    """A planned release with the decision of its ledger."""

    form: ReleaseForm
    planned: PlannedRelease
    outlook: LedgerDecision | None


class ReleasePage:
    """``/release``: the form, the plan, its review, the release, and the bundles.

    Parameters
    ----------
    data
        The data of this server: shown name -> data.
    ledgers
        The ledgers of this server: shown name -> address.
    out
        The folder that bundles are written into.
    """

    def __init__(self, data: Mapping[str, AvailableData], ledgers: Mapping[str, str], out: Path) -> None:
        self._data, self._ledgers, self._out = data, ledgers, out
        self._release_lock = Lock()
        #: Bundle -> the form that asked for it, as the query of an address, while this server runs.
        self._forms: dict[str, str] = {}

    def routes(self) -> list[Route]:
        return [
            Route("/release", self.start),
            Route("/release/new", self.form),
            Route("/release/plan", self.plan, methods=["POST"]),
            Route("/release/review", self.review, methods=["POST"]),
            Route("/release/run", self.run, methods=["POST"]),
            Route("/release/bundles/{name}.zip", self.archive),
            Route("/release/bundles/{name}.xlsx", self.workbook),
            Route("/release/bundles/{name}", self.bundle_page),
            Route("/release/bundles/{name}/{file}", self.bundle),
        ]

    # ---------------------------------------------------------------- choosing

    def start(self, request: Request) -> Response:
        """List the tables, and the bundles in the folder."""
        return page(
            request, "release_start.html", title="Release counts", eyebrow="Release", tab="/release",
            tables=[(name, *_tables(data)) for name, data in self._data.items()], bundles=self._bundles(),
        )  # fmt: skip

    def form(self, request: Request) -> Response:
        """Show the form of one table, without reading a row."""
        name, table = request.query_params.get("data", ""), request.query_params.get("table", "")
        try:
            offer = self._find_data(name).offer(table)
        except (DiscreetError, KeyError) as problem:
            lines = (str(problem),) if isinstance(problem, DiscreetError) else ("Choose a table from the list.",)
            return page(
                request, "message.html", title="This table cannot be opened", eyebrow="Release", tab="/release",
                status=404, lines=lines,
            )  # fmt: skip
        return page(
            request, "release.html", title=f"Count {offer.table}", eyebrow="Release", tab="/release", charts=True,
            data=name, offer=offer, mechanisms=FAMILIES.cli_names("release"), ways=WAY_TITLES,
            folder=self._free_name(offer.table), problem=None if offer.problem is None else refusal(offer.problem),
            filled=FilledForm(request.query_params), quantile_titles=QUANTILE_TITLES, usual_total=TOTAL,
            tables_titles=TABLES_TITLES, period_titles=PERIOD_TITLES,
        )  # fmt: skip

    # ---------------------------------------------------------------- planning

    async def plan(self, request: Request) -> Response:
        """Return the plan of the form, or the error in it; the address of the page then holds the form."""
        form = await _form(request)
        address = f"/release/new?{form.query}"
        try:
            content = await run_in_threadpool(lambda: _content(self._make_review(form)))
        except DiscreetError as problem:
            return piece("release_plan.html", address, form=form, problem=_refusal(problem, form))
        return piece("release_plan.html", address, form=form, problem=None, **content)

    async def review(self, request: Request) -> Response:
        """Return the confirmation: the cost of the release and the guarantee."""
        form = await _form(request)
        try:
            review = await run_in_threadpool(self._make_review, form, self._bundle_path(form))
            if review.outlook is None:
                raise missing_ledger()
            if review.outlook.verdict == "refused":
                raise InvalidInput(
                    f"the budget does not pay for this: {review.outlook}.",
                    "Ask with a smaller epsilon.",
                    argument="epsilon",
                )
        except DiscreetError as problem:
            return piece("as_it_is.html", content=_refusal(problem, form))
        return piece("release_review.html", **_content(review))

    def _make_review(self, form: ReleaseForm, out: Path | None = None) -> Review:
        planned = self._find_data(form.data).plan_release(form)
        return Review(form, planned, planned.preview(out))

    # ---------------------------------------------------------------- releasing

    async def run(self, request: Request) -> Response:
        """Make the release and write the bundle, if it is the release that was reviewed."""
        async with request.form() as fields:
            form, key = ReleaseForm.read(fields), str(fields.get("key", ""))
        try:
            name = await run_in_threadpool(self._run, form, key)
        except DiscreetError as problem:
            return piece("as_it_is.html", content=_refusal(problem, form))
        return Response(status_code=204, headers={"HX-Redirect": f"/release/bundles/{name}"})

    def _run(self, form: ReleaseForm, key: str) -> str:
        with self._release_lock:  # so that a second confirmation gets the recorded answer
            planned = self._find_data(form.data).plan_release(form)
            if planned.confirmation != key:
                raise InvalidInput(
                    "the form or the dataset was changed after you looked at the plan.",
                    "Look at it again, then release.",
                )
            folder = self._bundle_path(form)
            self._out.mkdir(parents=True, exist_ok=True)
            planned.release(folder)
            while len(self._forms) >= MAX_KEPT_FORMS:
                del self._forms[next(iter(self._forms))]
            self._forms[folder.name] = form.query
            return folder.name

    # ---------------------------------------------------------------- bundles

    def bundle_page(self, request: Request) -> Response:
        """Show a bundle, after verifying it."""
        folder = self._existing_bundle(request.path_params["name"])
        if folder is None:
            return page(
                request, "message.html", title="There is no such bundle", eyebrow="Release", tab="/release",
                status=404, lines=("The page of releases lists them.",),
            )  # fmt: skip
        release = open_bundle(folder)
        report = release.report()
        return page(
            request, "released.html", title=report.title, eyebrow=f"Released as {folder.name}", tab="/release",
            charts=True, name=folder.name, notes=report.notes, body=report_body(replace(report, notes=())),
            contents=_contents(report),
            budget=self._budget(release), form=self._forms.get(folder.name, ""), has_workbook=find_spec("xlsxwriter"),
            files=[(file, meaning) for file, meaning in FILE_MEANINGS.items() if (folder / file).is_file()],
        )  # fmt: skip

    def _budget(self, release: Release) -> str:
        """Return the remaining budget of the ledger that paid, or nothing if this server does not have it."""
        for name, address in self._ledgers.items():
            try:
                book = Ledger.open(address)
                if book.terms.ledger == release.ledger["ledger"]:
                    return budget_text(book, name)
            except DiscreetError:
                continue  # its own page says why
        return ""

    def bundle(self, request: Request) -> Response:
        """Return a file of a bundle."""
        folder, file = self._existing_bundle(request.path_params["name"]), request.path_params["file"]
        if folder is None or file not in {path.name for path in folder.iterdir() if path.is_file()}:
            return Response(status_code=404)
        kind = MEDIA_TYPES.get(Path(file).suffix, "text/plain")
        headers = {"Content-Security-Policy": BUNDLE_CONTENT_POLICY}
        return Response((folder / file).read_bytes(), media_type=kind, headers=headers)

    def archive(self, request: Request) -> Response:
        """Return a bundle as a zip archive."""
        folder = self._existing_bundle(request.path_params["name"])
        if folder is None:
            return Response(status_code=404)
        buffer = BytesIO()
        with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
            for file in sorted(folder.iterdir()):
                archive.write(file, f"{folder.name}/{file.name}")
        headers = {"Content-Disposition": f'attachment; filename="{folder.name}.zip"'}
        return Response(buffer.getvalue(), media_type="application/zip", headers=headers)

    def workbook(self, request: Request) -> Response:
        """Return a bundle as an Excel workbook."""
        folder = self._existing_bundle(request.path_params["name"])
        if folder is None:
            return Response(status_code=404)
        with TemporaryDirectory() as place:
            (file,) = export(open_bundle(folder), Path(place) / f"{folder.name}.xlsx")
            content = file.read_bytes()
        headers = {"Content-Disposition": f'attachment; filename="{folder.name}.xlsx"'}
        return Response(content, media_type=EXCEL, headers=headers)

    def _bundles(self) -> list[str]:
        if not self._out.is_dir():
            return []
        return sorted(file.name for file in self._out.iterdir() if self._existing_bundle(file.name) is not None)

    def _existing_bundle(self, name: str) -> Path | None:
        folder = self._out / name
        return folder if FOLDER_NAME.fullmatch(name) and (folder / "release.json").is_file() else None

    def _free_name(self, table: str) -> str:
        """Return an unused name for a bundle of a table."""
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", table).strip("._-") or "counts"
        return next(name for k in range(1, 10**6) if not (self._out / (name := f"{stem}_{k}")).exists())

    def _bundle_path(self, form: ReleaseForm) -> Path:
        if not FOLDER_NAME.fullmatch(form.folder):
            raise InvalidInput.must_be("out", "a name of letters, digits, - and _", form.folder)
        return self._out / form.folder

    def _find_data(self, name: str) -> AvailableData:
        if name not in self._data:
            raise InvalidInput(
                "this server was not started with that data.",
                "Start it with `discreet serve --dataset FILE.toml`, or `--data`.",
                argument="data",
            )
        return self._data[name]


#: Number of sections from which a page begins with a list of them.
_MIN_LISTED_SECTIONS = 8


def _contents(report: Report) -> list[tuple[str, str]]:
    """Return the anchor and the title of each section of a long page; nothing for a short one."""
    sections = [
        (f"section-{number}", section.title)
        for number, section in enumerate(report.sections, 1)
        if section.title and section.depth != "folded"
    ]
    return sections if len(sections) >= _MIN_LISTED_SECTIONS else []


NOISE_CAPTION = "Half-width of the noise as a share of the true count."


def _content(review: Review) -> dict[str, Any]:
    """Return the content of the plan and of its confirmation."""
    planned, outlook = review.planned, review.outlook
    plan = planned.plan
    widths = {"noise": max(expected.half_width for expected in plan.expected)}
    error = Picture("noise by size", {"half_widths": widths, "level": float(plan.level)}, NOISE_CAPTION)
    overrides = tuple(f"given instead of what is declared: {file}" for file in planned.overrides)
    report = plan.report()
    preview = preview_of(plan, review.form)
    return {
        "planned": planned, "plan": plan, "outlook": outlook, "facts": report.facts,
        "warnings": (*plan.notes, *overrides, *large_epsilon_note(plan)), "summary": summary(review.form, plan),
        "body": report_body(replace(report, facts=(), notes=())), "error": chart(error), "preview": preview,
        "preview_problem": None if preview.problem is None else _refusal(preview.problem, review.form),
        "left": None if outlook is None else amount_text(outlook.left),
        "refused": outlook is not None and outlook.verdict == "refused",
        "cost": amount_text(plan.cost if outlook is None else plan.cost.as_counted_by(outlook.left), up=True),
    }  # fmt: skip


async def _form(request: Request) -> ReleaseForm:
    async with request.form() as form:
        return ReleaseForm.read(form)


def _refusal(problem: DiscreetError, form: ReleaseForm) -> str:
    """Render an error in the words of this form, which names the unit, with the field that it is about."""
    titles = {
        "max_groups": f"Groups per {form.unit_word}", "max_rows": f"Rows per {form.unit_word}",
        "sizes": "Size of each group", "total": "In all, about",
    }  # fmt: skip
    return refusal(problem, form.field_of(problem), isinstance(problem, IncompleteForm), **titles)


def _tables(data: AvailableData) -> tuple[list[str], str]:
    """Return the tables of some data, or the reason why they cannot be listed."""
    try:
        return data.tables(), ""
    except DiscreetError as problem:
        return [], refusal(problem)
