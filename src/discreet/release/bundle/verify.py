"""Audit a bundle: recompute everything that follows from its request and counts, and trust no statement in it.

A bundle alone cannot prove that its counts are those that were drawn: anybody who changes a count, with all that
follows from it and the checksums, makes another consistent bundle. The ledger recorded the answer, so an audit with the
ledger detects the change; without the ledger, the report leaves this check open.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...datasets.publication import LABELS
from ...errors import DiscreetError, InvalidInput, UnreadableFile
from ...files import rebuild
from ...ledger.bindings import refuse_other_unit_name
from ...ledger.budget import Cost, largest_rho, short
from ...ledger.ledger import Ledger
from ...pages.html import TEMPLATE, pictures_of
from ...pages.pictures import NO_PROGRAM, NOT_DRAWN, draw_picture, drawing_program, is_plain_svg, pictures_in
from ...report import Finding
from ...strict_json import read_json
from ...wording import listed, plural
from ..charging import uncharged_periods
from ..plan.plan import Plan, plan_from_request
from ..quantile_rows import QuantileTable, quantile_file
from ..tables.columns import LAYOUT, ErrorColumn
from ..tables.csv_lines import Refuted
from ..tables.csv_text import decimal_text, table_files
from ..tables.released import ReleasedTable
from . import contents
from .contents import CHECKSUM_FILE, MALFORMED
from .findings import BundleReport
from .guarantee import guarantee_text
from .read import open_ledger, read_files
from .recorded import recorded_answer, release_from_record
from .released import Release

#: Fields of release.json with wording, which may change between versions.
_WORDING_FIELDS = ("guarantee", "status_meaning", "column_meaning", "label_marks")


def verify_bundle(folder: str | Path, ledger: Ledger | str | Path | None = None) -> BundleReport:
    """Audit a bundle; with its ledger, also check that the counts are those that were drawn.

    Parameters
    ----------
    folder
        The folder that ``release.save`` wrote.
    ledger
        The ledger that paid for it, or its file.

    Returns
    -------
    BundleReport
        A named check for each promise: checksums, request, files, cost, mechanisms, counts, statement, errors, words,
        page, pictures, ledger.

    Raises
    ------
    UnreadableFile
        When the folder is not a bundle, or the ledger does not exist.

    Examples
    --------
    >>> import discreet as dc, os, pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> table, book = os.path.join(folder, "visits.csv"), os.path.join(folder, "visits.ledger")
    >>> _ = pathlib.Path(table).write_text("person,site\\nann,1\\nbob,2\\n")
    >>> _ = dc.Ledger.create(book, dataset="visits", unit="person", epsilon=2)
    >>> release = dc.release_counts(
    ...     "SELECT site, COUNT(*) FROM visits GROUP BY site", data=table, unit="person",
    ...     domain={"site": range(1, 4)}, max_groups=1, epsilon=1, ledger=book, out=os.path.join(folder, "by_site"),
    ... )
    >>> report = verify_bundle(os.path.join(folder, "by_site"), book)
    >>> report.holds, report["ledger"].holds
    (True, True)
    >>> verify_bundle(os.path.join(folder, "by_site"))["ledger"].holds is None
    True
    """
    files, odd = read_files(folder)
    if "request.json" not in files:
        raise UnreadableFile(
            f"{folder} is not a bundle: it has no request.json.", "A bundle is what release.save writes."
        )
    audit = _Audit(files, odd)
    release = audit.run(open_ledger(ledger))
    return BundleReport(str(folder), tuple(audit.checks), release)


class _Audit:
    """The checks of one bundle; later checks build on the results of earlier ones."""

    def __init__(self, files: Mapping[str, bytes], odd: list[str]) -> None:
        self.files = files
        self.odd = odd
        self.checks: list[Finding] = []

    def run(self, book: Ledger | str | None) -> Release | None:
        """Make all checks; return the release if it can be rebuilt."""
        self._check("checksums", self._checksums)
        plan = self._check("request", self._plan)
        if not isinstance(plan, Plan):
            self._leave_open("everything else", "it follows from the request, which cannot be rebuilt.")
            return None
        self._check("files", lambda: self._files(plan))
        if plan.lookups:
            plan = self._check("look-ups", lambda: self._lookups(plan)) or plan
        self._check("cost", lambda: self._cost(plan))
        self._check("mechanisms", lambda: self._mechanisms(plan))
        tables = self._check("counts", lambda: self._tables(plan))
        if not isinstance(tables, tuple):
            self._leave_open("everything else", "it follows from the counts, which cannot be read.")
            return None
        release = self._check("statement", lambda: self._statement(plan, tables))
        self._check("errors", lambda: self._errors(tables, plan))
        if isinstance(release, Release):
            self._words(release)
            self._check("ledger", lambda: self._ledger(release, book))
        return release if isinstance(release, Release) else None

    def _check(self, name: str, look: Any) -> Any:
        """Make one check, which returns a result and a sentence for the report; return the result if it holds."""
        try:
            result, sentence = look()
        except Refuted as refuted:
            self.checks.append(Finding(name, False, str(refuted)))
        except DiscreetError as problem:
            self.checks.append(Finding(name, False, str(problem)))
        except MALFORMED as problem:
            self.checks.append(Finding(name, False, f"a file is damaged ({type(problem).__name__})."))
        else:
            self.checks.append(Finding(name, None if result is _OPEN else True, sentence))
            return result
        return None

    def _leave_open(self, name: str, sentence: str) -> None:
        """Record a check that cannot be decided."""
        self.checks.append(Finding(name, None, sentence))

    # -------------------------------------------------------------------------------------------- files

    def _checksums(self) -> tuple[Any, str]:
        checksums: dict[str, str] = {}
        for line in self._text(CHECKSUM_FILE).split("\n")[:-1]:
            digest, _, name = line.partition("  ")
            if name in checksums:
                raise Refuted(f"{CHECKSUM_FILE} lists {name[:80]!r} twice.")
            checksums[name] = digest
        if self._text(CHECKSUM_FILE) != "".join(f"{digest}  {name}\n" for name, digest in checksums.items()):
            raise Refuted(f"{CHECKSUM_FILE} is not written as a list of checksums.")
        if odd := set(checksums) ^ (set(self.files) - {CHECKSUM_FILE}):
            raise Refuted(f"the files are not those that {CHECKSUM_FILE} lists: {min(odd)[:80]!r}.")
        for name, digest in checksums.items():
            if hashlib.sha256(self.files[name]).hexdigest() != digest:
                raise Refuted(f"{name} is not the file that was written.")
        return True, f"all {len(checksums)} files are those that {CHECKSUM_FILE} lists."

    def _bytes(self, name: str) -> bytes:
        """Return the bytes of a file; refute the bundle if it is missing."""
        if name not in self.files:
            raise Refuted(f"there is no {name}.")
        return self.files[name]

    def _text(self, name: str) -> str:
        """Return the text of a file; refute the bundle if it is missing."""
        if name not in self.files:
            raise Refuted(f"there is no {name}.")
        return self.files[name].decode("utf-8")

    def _files(self, plan: Plan) -> tuple[Any, str]:
        """Check that the files are exactly those of the plan; a further file could make any claim."""
        if self.odd:
            raise Refuted(f"{self.odd[0][:80]!r} is not a plain file.")
        expected = {*contents.file_names(plan), CHECKSUM_FILE}
        if set(self.files) != expected:
            name = min(set(self.files) ^ expected)
            if name in expected:
                raise Refuted(f"{name!r} is missing.")
            raise Refuted(f"{name[:80]!r} does not belong to this bundle.")
        return True, f"the {len(expected)} files are those that a bundle of this request has."

    def _json(self, name: str) -> dict[str, Any]:
        """Return the JSON object in a file."""
        content = read_json(self._text(name), name)
        if not isinstance(content, dict):
            raise Refuted(f"{name} is not a JSON object.")
        return content

    # -------------------------------------------------------------------------------------------- the plan

    def _plan(self) -> tuple[Any, str]:
        request = self._json("request.json")
        plan = plan_from_request(request)
        odd = _differing(plan.request, request)
        if odd:
            raise Refuted(f"it is not the request of the plan that it describes: {', '.join(odd)[:200]!r}.")
        statements = listed([LABELS[name] for name in plan.publication.to_json()])
        nobody = f" Nothing proves what the curator states: {statements}." if statements else ""
        many = f"{len(plan.tables)} questions were" if len(plan.tables) > 1 else "the question was"
        return plan, f"{many} read and judged again; {plan.lead.audited_in_words(plan.cells)}.{nobody}"

    def _lookups(self, plan: Plan) -> tuple[Plan, str]:
        """Check the files of the look-ups by their digests, and that no key is there twice."""
        contents_of_files = [self._bytes(name) for name in contents.lookup_files(plan)]
        return plan.with_lookups(contents_of_files), (
            f"{plural(len(plan.lookups), 'look-up')}: the file is that of the request, each key is there once, and its "
            "columns are read as the request states."
        )

    def _cost(self, plan: Plan) -> tuple[Any, str]:
        if self._json("release.json")["cost"] != plan.cost.to_json():
            raise Refuted("release.json states a cost that is not that of its question and noise.")
        delta = f", delta = {short(plan.cost.delta, up=True)}" if plan.cost.delta else ""
        return True, f"epsilon = {short(plan.cost.epsilon, up=True)}{delta}, worked out again. {plan.sensitivity_text}"

    def _mechanisms(self, plan: Plan) -> tuple[Any, str]:
        expected, _ = contents.mechanism_files(table.mechanisms for table in plan.tables)
        for name, text in expected.items():
            content = self._json(name)
            if contents.mechanism_text(rebuild(content, name)) != text or _differing(content, json.loads(text)):
                raise Refuted(f"{name} is not the mechanism of the request.")
        return True, f"{plural(len(expected), 'mechanism')} rebuilt and proved again by the judge."

    # -------------------------------------------------------------------------------------------- counts and errors

    def _tables(self, plan: Plan) -> tuple[Any, str]:
        names = table_files(len(plan.tables))
        layout = self._layout()
        tables = tuple(
            table.read(
                self._text(table.recorded_file(name)), table.recorded_file(name), plan.level, plan.edition, layout
            )
            for name, table in zip(names, plan.tables, strict=True)
        )
        return tables, plan.lead.lines_in_words

    def _layout(self) -> int:
        """Return the layout that the bundle states; its files are checked against it."""
        layout = self._json("release.json").get("version")
        if type(layout) is not int or not 1 <= layout <= LAYOUT:
            raise Refuted(f"release.json is of version {str(layout)[:40]!r}; this program reads 1 to {LAYOUT}.")
        return layout

    def _errors(self, tables: tuple[ReleasedTable, ...], plan: Plan) -> tuple[Any, str]:
        for name, table in zip(table_files(len(tables)), tables, strict=True):
            for file, expected in table.files(name):
                text = self._text(file)
                if file == name and text != expected:
                    _compare_error_columns(text, expected, name, table.columns)
                elif text != expected:
                    raise Refuted(f"{file} does not follow from the counts.")
        self._quantiles(tables, plan)
        return True, "intervals, standard deviations, biases and probabilities were worked out again from the counts."

    def _quantiles(self, tables: tuple[ReleasedTable, ...], plan: Plan) -> None:
        """Find the quantiles again in the counts."""
        names = table_files(len(tables))
        for number, (name, table) in enumerate(zip(names, tables, strict=True)):
            requests, file = plan.quantiles_of(number), quantile_file(name)
            if requests and self._text(file) != QuantileTable(table, requests).csv_text():
                raise Refuted(f"{file} does not follow from the counts.")

    # -------------------------------------------------------------------------------------------- statements and words

    def _statement(self, plan: Plan, tables: tuple[ReleasedTable, ...]) -> tuple[Any, str]:
        content = self._json("release.json")
        receipt, program = content["ledger"], content["program"]["version"]
        if not (isinstance(receipt, dict) and _is_receipt(receipt)) or not isinstance(program, str):
            raise Refuted("release.json has no receipt of a ledger, or no version.")
        layout = self._layout()
        template = self._template(content) if layout > 2 else 0
        budget = _budget(content, plan) if layout > 3 else None
        release = Release(plan, tables, receipt, program, budget=budget, layout=layout, template=template)
        odd = sorted({*_differing(contents.statement(release), content)} - {*_WORDING_FIELDS})
        if odd:
            raise Refuted(f"release.json contradicts the request and the counts: {odd[0][:80]!r}.")
        return release, "release.json says what follows from the request and the counts."

    def _template(self, content: Mapping[str, object]) -> int:
        """Return the version of the page's template that the bundle states."""
        template = content.get("template")
        if type(template) is not int or template < 1:
            raise Refuted(f"release.json does not state the template of its page: {str(template)[:40]!r}.")
        return template

    def _words(self, release: Release) -> None:
        """Compare the texts for readers word for word, if this version wrote the bundle."""
        from ... import __version__

        other = ""  # every version of the program writes a single layout and template
        if release.version != __version__:
            other = f"version {release.version[:40]!r}, and this is {__version__}"
        for name, look in (("words", self._wording), ("page", self._page), ("pictures", self._pictures)):
            self._check(name, lambda look=look: look(release))
            if other and self.checks[-1].holds is False:
                what = "release.json and GUARANTEE.md" if name == "words" else "index.html"
                self.checks[-1] = Finding(name, None, f"{what} was written by {other}: NOT checked word for word.")

    def _wording(self, release: Release) -> tuple[Any, str]:
        if self._text("GUARANTEE.md") != guarantee_text(release):
            raise Refuted("GUARANTEE.md does not say what follows from the request and the counts.")
        for name, text in self._json_texts(release):
            if self._text(name) != text:
                raise Refuted(f"{name} is not written as this version writes it.")
        names = [line.partition("  ")[2] for line in self._text(CHECKSUM_FILE).splitlines()]
        if names != contents.file_names(release.plan):
            raise Refuted(f"{CHECKSUM_FILE} does not list the files in the order in which this version writes them.")
        return True, "GUARANTEE.md and the JSON files are, letter for letter, those of the request and the counts."

    def _json_texts(self, release: Release) -> Iterator[tuple[str, str]]:
        """Yield the JSON files of the bundle as this version writes them."""
        yield "request.json", contents.json_text(release.request)
        yield "release.json", contents.json_text(contents.statement(release))
        yield from contents.mechanism_files(table.plan.mechanisms for table in release.tables)[0].items()

    def _page(self, release: Release) -> tuple[Any, str]:
        text, report = self._text("index.html"), release.report()
        if (release.layout, release.template) != (LAYOUT, TEMPLATE):
            raise Refuted(
                f"this version writes layout {LAYOUT} with template {TEMPLATE}, and the bundle states others."
            )
        pictures = pictures_in(text)
        if not all(map(is_plain_svg, pictures)):
            raise Refuted("a picture in index.html holds more than a drawing.")
        if len(pictures) != len(pictures_of(report)) or contents.bundle_page(release, pictures) != text:
            raise Refuted("index.html does not say what follows from the request and the counts.")
        return True, "index.html says what follows from the request and the counts."

    def _pictures(self, release: Release) -> tuple[Any, str]:
        pictures = pictures_in(self._text("index.html"))
        expected = [draw_picture(picture, number) for number, picture in enumerate(pictures_of(release.report()))]
        if pictures == [NOT_DRAWN] * len(expected):  # what is drawn here without a drawing program equals it too
            return True, "the page has no pictures: the bundle was written without a drawing program."
        if pictures == expected:
            return True, "the pictures, drawn again, are the same."
        if drawing_program() == NO_PROGRAM:
            return _OPEN, "NOT checked: there is no drawing program here. pip install 'discreet[plots]' installs one."
        # The drawing program named in a picture proves nothing: a forger would name one that is not installed here.
        raise Refuted(
            f"the pictures in index.html are not those that {drawing_program()} draws of the counts. Honest pictures "
            "of another drawing program can be checked only with that program."
        )

    # -------------------------------------------------------------------------------------------- the ledger

    def _ledger(self, release: Release, book: Ledger | str | None) -> tuple[Any, str]:
        if book is None:
            return _OPEN, (
                "no ledger was given. Only the ledger can show that these are the counts that were drawn: a count that "
                "was changed together with everything that follows from it is consistent."
            )
        if isinstance(book, str):
            raise Refuted(book)
        plan = release.plan
        report = book.verify([str(release.ledger.get("head", ""))])
        if not report.holds:
            raise Refuted(str(report))
        protection = plan.protection
        book.check_terms(plan.dataset, protection.unit, protection.relation, protection.granularity)
        record = recorded_answer(plan, book)
        if record is None:
            raise Refuted("the ledger has no answer to this request.")
        if uncharged_periods(plan, record, book):
            raise Refuted("the ledger charged other periods than those that the question reads.")
        original = release_from_record(plan, record, book)
        for number, (table, original_table) in enumerate(zip(release.tables, original.tables, strict=True), 1):
            if not table.has_counts_of(original_table):
                raise Refuted(f"the counts of table {number} are not those that the ledger recorded.")
        if json.dumps(dict(original.ledger)) != json.dumps(dict(release.ledger)) or original.version != release.version:
            raise Refuted("the receipt in release.json is not the ledger's.")
        if release.layout > 3 and release.budget != original.budget:
            raise Refuted("the total budget in release.json is not the ledger's.")
        refuse_other_unit_name(book, release.plan.protection.unit_name, named=True)
        return True, f"the counts are those that the ledger recorded; {report}"


def _differing(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    """Return the names of the fields in which two JSON objects differ; 1, 1.0 and true are different."""
    texts = [{name: json.dumps(value, sort_keys=True) for name, value in each.items()} for each in (one, other)]
    return sorted(name for name in {*one, *other} if texts[0].get(name) != texts[1].get(name))


def _budget(content: Mapping[str, object], plan: Plan) -> Cost:
    """Return the total budget that release.json states; refuse one that does not pay for this release."""
    statement, cost = content["budget"], plan.cost
    if not isinstance(statement, Mapping) or set(statement) != {"epsilon", "delta", "rho"}:
        raise Refuted("release.json does not state the total budget of its ledger.")
    budget = Cost.from_json(statement)
    rho = cost.concentrated()
    if budget.rho is None:
        pays = (cost.epsilon <= budget.epsilon and cost.delta <= budget.delta) or _is_implied(cost, budget)
    else:
        pays = rho is not None and rho <= budget.rho
    if not pays:
        raise Refuted("release.json states a total budget that does not pay for this release.")
    return budget


def _is_implied(cost: Cost, budget: Cost) -> bool:
    """Return True if the rho of a release implies the budget, although its own epsilon and delta are others."""
    if cost.rho is None or not budget.epsilon or not 0 < budget.delta < 1:
        return False
    try:
        return cost.rho <= largest_rho(budget.epsilon, budget.delta)[0]
    except InvalidInput:  # no rho is small enough
        return False


def _is_receipt(receipt: Mapping[str, object]) -> bool:
    """Return True if a receipt has the right form; only the ledger shows whether it is genuine."""
    forms = {"ledger": "[0-9a-f]{32}", "head": "[0-9a-f]{64}", "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}
    return (
        list(receipt) == ["ledger", "entry", "head", "time"]
        and type(receipt["entry"]) is int
        and all(re.fullmatch(form, str(receipt[name]), re.ASCII) for name, form in forms.items())
    )


#: The result of a check that cannot be decided.
_OPEN: Any = object()


#: Relative tolerance of error columns that are not integers: six digits are written, and machines differ in the last.
_RELATIVE_TOLERANCE = 2e-5


def _compare_error_columns(text: str, expected: str, name: str, columns: Sequence[ErrorColumn]) -> None:
    """Refuse error columns that differ from the expected ones, except by the last digits of another machine."""
    for number, (one, other) in enumerate(zip(text.split("\n"), expected.split("\n"), strict=True), 1):
        if one == other:
            continue
        published, computed = one.rsplit(",", len(columns)), other.rsplit(",", len(columns))
        whole = [k for k, column in enumerate(columns, 1) if column.rounding is None]
        if any(published[k] != computed[k] for k in (0, *whole)):
            raise Refuted(f"{name}, line {number}: the interval is not that of the count.")
        if not all(_is_close(a, b) for a, b in zip(published[1:], computed[1:], strict=True)):
            raise Refuted(f"{name}, line {number}: the error columns are not those of the noise.")


def _is_close(published: str, computed: str) -> bool:
    """Return True if two fields of an error column are equal, or differ by the last digits of another machine."""
    if published == computed or not (published and computed):
        return published == computed
    if decimal_text(float(published)) != published:
        return False  # an equal or close number in another notation
    return bool(abs(float(published) - float(computed)) <= _RELATIVE_TOLERANCE * max(abs(float(computed)), 1e-3))
