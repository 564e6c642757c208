"""Runs of a study: its exhibits one after another, and the results as files, a report and a table of claims."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InvalidInput
from discreet.plots import Chart
from discreet.report import (
    Bullets,
    Fact,
    Json,
    Part,
    Picture,
    Prose,
    Report,
    Result,
    Section,
    Terms,
    TextTable,
    stamped,
)
from discreet.tabular import Columns, Tabular
from discreet.utility import transport_solver
from discreet.wording import listed, plural

from .claims import Claim, Verdict
from .datasets import SOURCES, Datasets
from .registry import STUDIES
from .study import Exhibit, ExhibitResult, Progress, Row, Setting, Study, silent

#: Formats of saved charts.
FORMATS = ("png", "svg", "pdf", "html")


@dataclass(frozen=True, eq=False)
class StudyResult(Tabular, Result):
    """The results of a study. Made by :func:`discreet.study`.

    Attributes
    ----------
    study
        The paper and its exhibits.
    quick, seed
        The settings of the run.
    drawn
        Key of an exhibit -> its result.
    left_out
        Key of an exhibit without its data -> the reason.

    Examples
    --------
    >>> import discreet as dc
    >>> found = dc.study("bounded", figure="numbers", quick=True)
    >>> len(found.claims) > 10, found.left_out
    (True, {})
    """

    study: Study
    quick: bool
    seed: int
    results: Mapping[str, ExhibitResult]
    left_out: Mapping[str, str]

    @property
    def drawn(self) -> Mapping[str, ExhibitResult]:
        """The results of the exhibits under their former name."""
        warnings.warn("drawn is now results; the next version removes drawn.", DeprecationWarning, stacklevel=2)
        return self.results

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims with their verdicts, in the paper's order."""
        return tuple(claim for results in self.results.values() for claim in results.claims)

    def data_columns(self) -> Columns:
        """Return a row for each claim: where the paper says it, what was measured, and the verdict."""
        columns = ("key", "place", "statement", "measured", "verdict", "why", "basis")
        rows = self._plain_claims()
        return {name: [row[name] for row in rows] for name in columns}

    def _headline(self) -> str:
        return f"{self.study.name}, {plural(len(self.claims), 'claim')}, {'quick' if self.quick else 'full'}"

    def save(self, folder: str | Path, formats: Sequence[str] = FORMATS) -> Path:
        """Write charts, data, claims (also as JSON) and a page into a folder, which is created if needed.

        Parameters
        ----------
        folder
            The folder.
        formats
            Formats of the charts: any of png, svg, pdf, html and json (the Vega-Lite specification).

        Returns
        -------
        Path
            The page, ``index.html``.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for exhibit, results in self._exhibits():
            for name, chart in results.charts.items():
                for ending in formats:
                    chart.save(folder / f"{exhibit.file(name)}.{ending}")
            for name, rows in results.tables.items():
                _write_csv(folder / f"{exhibit.file(name)}.csv", rows)
        _write_csv(folder / "claims.csv", self._plain_claims())
        claims = json.dumps(published([self.to_json()]), ensure_ascii=False, indent=1)
        (folder / "claims.json").write_text(claims + "\n", encoding="utf-8")
        (folder / "study.json").write_text(json.dumps(self.to_json(), ensure_ascii=False) + "\n", encoding="utf-8")
        return self.report().save(folder / "index.html")

    def to_json(self) -> dict[str, Json]:
        """Return exhibits with their data, and the claims."""
        exhibits: list[Json] = [
            {
                "figure": exhibit.key,
                "title": exhibit.title,
                "chosen": [*([results.note] if results.note else []), *results.choices],
                "charts": [exhibit.file(name) for name in results.charts],
                "tables": {exhibit.file(name): [dict(row) for row in rows] for name, rows in results.tables.items()},
            }
            for exhibit, results in self._exhibits()
        ]
        content: dict[str, Json] = {
            "study": self.study.name, "paper": self.study.paper, "doi": self.study.doi,
            "self_tested": self.study.self_tested, "quick": self.quick, "seed": self.seed,
            "exhibits": exhibits, "claims": list(self._plain_claims()), "left_out": dict(self.left_out),
        }  # fmt: skip
        return stamped("study", 2, content)

    def report(self) -> Report:
        """Return the claims with their verdicts, then each exhibit: charts, what was chosen, where the data is."""
        by_verdict = {verdict: [c for c in self.claims if c.verdict is verdict] for verdict in Verdict}
        facts = tuple(Fact(str(len(claims)), verdict.value) for verdict, claims in by_verdict.items())
        run = f"{'A quick run' if self.quick else 'A full run'}; the seed is {self.seed}."
        counts = Terms(tuple((verdict.value, plural(len(claims), "claim")) for verdict, claims in by_verdict.items()))
        sections = [Section("", (Prose(f"{self.study.paper}, cited as [{self.study.letter}]. {run}"), counts))]
        for verdict in (Verdict.FAILS, Verdict.CORRECTED, Verdict.UNDECIDABLE):
            sentences = tuple(_in_full(claim) for claim in by_verdict[verdict])
            sections += [Section(verdict.value.capitalize(), (Bullets(sentences),))] if sentences else []
        sections += [Section("All claims", (claims_table(self.claims),), "pages")] if self.claims else []
        sections += [self._section(exhibit, results) for exhibit, results in self._exhibits()]
        called = {exhibit.key: exhibit.called for exhibit in self.study.exhibits}
        notes = tuple(f"{called[key]} was left out: {why}" for key, why in self.left_out.items())
        notes += tuple(f"{called[key]}: {results.note}" for key, results in self.results.items() if results.note)
        return Report(f"Study: {self.study.name}", "Claims, computed and judged", facts, tuple(sections), notes)

    def _plain_claims(self) -> list[dict[str, Json]]:
        return [_plain(exhibit, claim) for exhibit, results in self._exhibits() for claim in results.claims]

    def _exhibits(self) -> Iterator[tuple[Exhibit, ExhibitResult]]:
        return ((exhibit, self.results[exhibit.key]) for exhibit in self.study.exhibits if exhibit.key in self.results)

    @staticmethod
    def _section(exhibit: Exhibit, results: ExhibitResult) -> Section:
        parts: list[Part] = [Picture("vega-lite", chart.spec, _title(chart)) for chart in results.charts.values()]
        if results.note:
            parts.append(Prose(results.note))
        if results.choices:
            parts += [Prose("Chosen here:"), Bullets(results.choices)]
        files = [f"`{exhibit.file(name)}.csv` ({plural(len(rows), 'row')})" for name, rows in results.tables.items()]
        parts.append(Prose(f"Data: {listed(files, 'and')}."))
        return Section(f"{exhibit.called}: {exhibit.title}", tuple(parts), "pages")


def study(
    name: str,
    figure: str | int | None = None,
    *,
    quick: bool = False,
    seed: int = 2026,
    data: str | Path | None = None,
    progress: Progress = silent,
) -> StudyResult:
    """Reproduce a paper: compute its figures and tables again, and judge its claims.

    Parameters
    ----------
    name
        The study: ``"constrained"``, ``"bounded"``, ``"reconstruction"`` or ``"places"``, or the letter by which the
        documentation cites the paper; ``"results"`` for our own.
    figure
        One figure or table only, by its key, such as ``3`` or ``"example-1"``.
    quick
        A few repetitions: the shape of each figure within seconds, with wide error bars.
    seed
        The seed of all random numbers. The same seed gives the same results.
    data
        A folder with Adult and Gowalla; by default the one that the environment variable ``DISCREET_DATA`` names.
        Exhibits whose data is missing are left out.
    progress
        Shows the progress of long work.

    Returns
    -------
    StudyResult
        Charts, data and claims; ``save(folder)`` writes them.

    Examples
    --------
    >>> import discreet as dc
    >>> found = dc.study("bounded", figure="1", quick=True)
    >>> found.study.letter, sorted(found.results)
    ('S', ['1'])
    """
    definition = find_study(name)
    datasets = Datasets(None if data is None else Path(data))
    setting = Setting(quick=quick, seed=seed, datasets=datasets, progress=progress)
    exhibits = definition.exhibits if figure is None else (_find_exhibit(definition, str(figure)),)
    missing = {e.key: [need for need in e.needs if not datasets.has(need)] for e in exhibits}
    if figure is not None and missing[exhibits[0].key]:
        datasets.refuse(missing[exhibits[0].key][0])
    if any(exhibit.on_map and not missing[exhibit.key] for exhibit in exhibits):
        transport_solver()  # refuses before any work
    drawable = [exhibit for exhibit in exhibits if not missing[exhibit.key]]
    results = {}
    for exhibit in progress(drawable, definition.name):
        results[exhibit.key] = exhibit.draw(setting)
    left_out = {
        key: f"it needs {listed([SOURCES[need] for need in needs], 'and')}." for key, needs in missing.items() if needs
    }
    return StudyResult(definition, quick, seed, results, left_out)


def published(runs: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the claims of several runs as ``claims.json`` has them, from the JSON of the runs.

    Each has the claim, the equation or place, the verdict with its reason and its evidence, the code that judges it,
    the command that runs it, and the DOI of the paper.

    >>> index = published([study("bounded", figure="numbers", quick=True).to_json()])
    >>> index["claims"][0]["equation"], index["claims"][0]["doi"]
    ('[S] section III-B, text of figure 1', '10.48550/arXiv.2007.09374')
    """
    entries: list[Json] = []
    for run in runs:
        claims = run["claims"]
        assert isinstance(claims, list), "a study has a list of claims"
        entries += [_published(run, claim) for claim in claims if isinstance(claim, dict)]
    return stamped("claims", 1, {"claims": entries})


def _published(run: Mapping[str, Json], claim: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "claim": claim["statement"], "equation": claim["place"], "verdict": claim["verdict"],
        "measured": claim["measured"], "why": claim["why"], "basis": claim["basis"],
        "self_tested": run["self_tested"], "run": "quick" if run["quick"] else "full", "code": claim["code"],
        "command": f"discreet study {run['study']} --figure {claim['figure']}",
        "study": run["study"], "key": claim["key"], "doi": run["doi"],
    }  # fmt: skip


def find_study(name: str) -> Study:
    """Return a study by its name or its paper's letter."""
    match = next((s for s in STUDIES if name.casefold() in (s.name, s.letter.casefold())), None)
    if match is None:
        raise InvalidInput.must_be("name", f"one of {listed([s.name for s in STUDIES], 'and')}", name)
    return match


def listing(studies: Sequence[Study] = STUDIES) -> list[tuple[str, str, str]]:
    """Return the study, key and title of every exhibit."""
    return [(one.name, exhibit.key, exhibit.title) for one in studies for exhibit in one.exhibits]


def read_formats(text: str) -> tuple[str, ...]:
    """Read formats of charts as people list them.

    >>> read_formats("png, pdf")
    ('png', 'pdf')
    """
    formats = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    allowed = (*FORMATS, "json")
    unknown = [one for one in formats if one not in allowed]
    if unknown:
        raise InvalidInput.must_be("formats", f"any of {listed(allowed, 'and')}", unknown[0])
    return formats


def claims_table(claims: Sequence[Claim]) -> TextTable:
    """Return the claims as a table for people."""
    headings = ("where", "claim", "measured here", "verdict", "why")
    return TextTable(
        headings, tuple((c.place, c.statement, c.measured, c.verdict.value, c.why) for c in claims), strong=(3,)
    )


def _find_exhibit(study: Study, figure: str) -> Exhibit:
    by_key = {exhibit.key: exhibit for exhibit in study.exhibits}
    if figure not in by_key:
        raise InvalidInput.must_be("figure", f"one of {listed(list(by_key), 'and')} for {study.name}", figure)
    return by_key[figure]


def _in_full(claim: Claim) -> str:
    return f"{claim.place}: {claim.statement} Measured: {claim.measured} {claim.why}".strip()


def _title(chart: Chart) -> str:
    return str(chart.spec["title"]["text"])


def _plain(exhibit: Exhibit, claim: Claim) -> dict[str, Json]:
    return {
        "key": claim.key, "figure": exhibit.key, "place": claim.place, "statement": claim.statement,
        "measured": claim.measured, "verdict": claim.verdict.value, "why": claim.why,
        "basis": (claim.basis or exhibit.basis).value, "code": exhibit.code,
    }  # fmt: skip


def _write_csv(file: Path, rows: Sequence[Row]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
