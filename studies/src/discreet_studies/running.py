"""Running a study: its exhibits one after another, and what comes out as files, a report and a table of claims."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InvalidInput
from discreet.plots import Chart
from discreet.report import Bullets, Fact, Json, Part, Picture, Prose, Report, Result, Section, Table, Terms, stamped
from discreet.utility import transport_solver
from discreet.wording import listed, plural

from .claims import Claim, Verdict
from .datasets import SOURCES, Datasets
from .registry import STUDIES
from .study import Drawn, Exhibit, Progress, Row, Setting, Study, silent

#: How a chart is saved.
FORMATS = ("png", "svg", "pdf", "html")


@dataclass(frozen=True, eq=False)
class StudyResult(Result):
    """What a study gave. Made by :func:`discreet.study`.

    Attributes
    ----------
    study
        The paper and its exhibits.
    quick, seed
        How it was run.
    drawn
        What each exhibit gave, by its key.
    left_out
        The exhibits whose data is not there, with the reason.

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
    drawn: Mapping[str, Drawn]
    left_out: Mapping[str, str]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims that were judged, in the paper's order."""
        return tuple(claim for drawn in self.drawn.values() for claim in drawn.claims)

    def save(self, folder: str | Path, formats: Sequence[str] = FORMATS) -> Path:
        """Write charts, data, claims (also as JSON) and a page into a folder, which is made if it is not there.

        Parameters
        ----------
        folder
            Where to write.
        formats
            Of the charts: any of png, svg, pdf, html and json (the Vega-Lite specification).

        Returns
        -------
        Path
            The page, ``index.html``.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for exhibit, drawn in self._exhibits():
            for name, chart in drawn.charts.items():
                for ending in formats:
                    chart.save(folder / f"{exhibit.file(name)}.{ending}")
            for name, rows in drawn.tables.items():
                _write_csv(folder / f"{exhibit.file(name)}.csv", rows)
        _write_csv(folder / "claims.csv", self._plain_claims())
        said = json.dumps(published([self.to_json()]), ensure_ascii=False, indent=1)
        (folder / "claims.json").write_text(said + "\n", encoding="utf-8")
        (folder / "study.json").write_text(json.dumps(self.to_json(), ensure_ascii=False) + "\n", encoding="utf-8")
        return self.report().save(folder / "index.html")

    def to_json(self) -> dict[str, Json]:
        """Exhibits with their data, and the claims."""
        exhibits: list[Json] = [
            {
                "figure": exhibit.key,
                "title": exhibit.title,
                "chosen": [*([drawn.note] if drawn.note else []), *drawn.chosen],
                "charts": [exhibit.file(name) for name in drawn.charts],
                "tables": {exhibit.file(name): [dict(row) for row in rows] for name, rows in drawn.tables.items()},
            }
            for exhibit, drawn in self._exhibits()
        ]
        said: dict[str, Json] = {
            "study": self.study.name, "paper": self.study.paper, "doi": self.study.doi,
            "self_tested": self.study.self_tested, "quick": self.quick, "seed": self.seed,
            "exhibits": exhibits, "claims": list(self._plain_claims()), "left_out": dict(self.left_out),
        }  # fmt: skip
        return stamped("study", 2, said)

    def report(self) -> Report:
        """The claims with their verdicts, then each exhibit: charts, what was chosen, where the data is."""
        by_verdict = {verdict: [c for c in self.claims if c.verdict is verdict] for verdict in Verdict}
        facts = tuple(Fact(str(len(found)), verdict.value) for verdict, found in by_verdict.items())
        run = f"{'A quick run' if self.quick else 'A full run'}; the seed is {self.seed}."
        counted = Terms(tuple((verdict.value, plural(len(found), "claim")) for verdict, found in by_verdict.items()))
        sections = [Section("", (Prose(f"{self.study.paper}, cited as [{self.study.letter}]. {run}"), counted))]
        for verdict in (Verdict.FAILS, Verdict.CORRECTED, Verdict.UNDECIDABLE):
            said = tuple(_in_full(claim) for claim in by_verdict[verdict])
            sections += [Section(verdict.value.capitalize(), (Bullets(said),))] if said else []
        sections += [Section("All claims", (claims_table(self.claims),), "pages")] if self.claims else []
        sections += [self._section(exhibit, drawn) for exhibit, drawn in self._exhibits()]
        called = {exhibit.key: exhibit.called for exhibit in self.study.exhibits}
        notes = tuple(f"{called[key]} was left out: {why}" for key, why in self.left_out.items())
        notes += tuple(f"{called[key]}: {drawn.note}" for key, drawn in self.drawn.items() if drawn.note)
        return Report(f"Study: {self.study.name}", "Claims, computed and judged", facts, tuple(sections), notes)

    def _plain_claims(self) -> list[dict[str, Json]]:
        return [_plain(exhibit, claim) for exhibit, drawn in self._exhibits() for claim in drawn.claims]

    def _exhibits(self) -> Iterator[tuple[Exhibit, Drawn]]:
        return ((exhibit, self.drawn[exhibit.key]) for exhibit in self.study.exhibits if exhibit.key in self.drawn)

    @staticmethod
    def _section(exhibit: Exhibit, drawn: Drawn) -> Section:
        parts: list[Part] = [Picture("vega-lite", chart.spec, _title(chart)) for chart in drawn.charts.values()]
        if drawn.note:
            parts.append(Prose(drawn.note))
        if drawn.chosen:
            parts += [Prose("Chosen here:"), Bullets(drawn.chosen)]
        named = [f"`{exhibit.file(name)}.csv` ({plural(len(rows), 'row')})" for name, rows in drawn.tables.items()]
        parts.append(Prose(f"Data: {listed(named, 'and')}."))
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
        Which study: ``"constrained"``, ``"bounded"``, ``"reconstruction"`` or ``"places"``, or the letter by which the
        documentation cites the paper; ``"results"`` are those of our own.
    figure
        One figure or table only, by its key, such as ``3`` or ``"example-1"``.
    quick
        A few repetitions: the shape of each figure within seconds, with wide error bars.
    seed
        Where all random numbers start. The same seed gives the same results.
    data
        A folder with Adult and Gowalla; by default the one that the environment variable ``DISCREET_DATA`` names.
        What needs them is left out where they are not.
    progress
        Shows how far long work is.

    Returns
    -------
    StudyResult
        Charts, data and claims; ``save(folder)`` writes them.

    Examples
    --------
    >>> import discreet as dc
    >>> found = dc.study("bounded", figure="1", quick=True)
    >>> found.study.letter, sorted(found.drawn)
    ('S', ['1'])
    """
    chosen = find_study(name)
    datasets = Datasets(None if data is None else Path(data))
    setting = Setting(quick=quick, seed=seed, datasets=datasets, progress=progress)
    exhibits = chosen.exhibits if figure is None else (_find_exhibit(chosen, str(figure)),)
    missing = {e.key: [need for need in e.needs if not datasets.has(need)] for e in exhibits}
    if figure is not None and missing[exhibits[0].key]:
        datasets.refuse(missing[exhibits[0].key][0])
    if any(exhibit.on_map and not missing[exhibit.key] for exhibit in exhibits):
        transport_solver()  # refuses before any work
    drawable = [exhibit for exhibit in exhibits if not missing[exhibit.key]]
    drawn = {}
    for exhibit in progress(drawable, chosen.name):
        drawn[exhibit.key] = exhibit.draw(setting)
    left_out = {
        key: f"it needs {listed([SOURCES[need] for need in needs], 'and')}." for key, needs in missing.items() if needs
    }
    return StudyResult(chosen, quick, seed, drawn, left_out)


def published(runs: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the claims of several runs as ``claims.json`` has them, from the JSON of the runs.

    Each has the claim, the equation or place, the verdict with its reason, what it rests on, the code that judges it
    and the command that runs it, and the DOI of the paper.

    >>> found = published([study("bounded", figure="numbers", quick=True).to_json()])
    >>> found["claims"][0]["equation"], found["claims"][0]["doi"]
    ('[S] section III-B, text of figure 1', '10.48550/arXiv.2007.09374')
    """
    claims: list[Json] = []
    for run in runs:
        said = run["claims"]
        assert isinstance(said, list), "a study has a list of claims"
        claims += [_published(run, claim) for claim in said if isinstance(claim, dict)]
    return stamped("claims", 1, {"claims": claims})


def _published(run: Mapping[str, Json], claim: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "claim": claim["statement"], "equation": claim["place"], "verdict": claim["verdict"],
        "measured": claim["measured"], "why": claim["why"], "basis": claim["basis"],
        "self_tested": run["self_tested"], "run": "quick" if run["quick"] else "full", "code": claim["code"],
        "command": f"discreet study {run['study']} --figure {claim['figure']}",
        "study": run["study"], "key": claim["key"], "doi": run["doi"],
    }  # fmt: skip


def find_study(name: str) -> Study:
    """A study by its name or its paper's letter."""
    found = next((s for s in STUDIES if name.casefold() in (s.name, s.letter.casefold())), None)
    if found is None:
        raise InvalidInput.must_be("name", f"one of {listed([s.name for s in STUDIES], 'and')}", name)
    return found


def listing(studies: Sequence[Study] = STUDIES) -> list[tuple[str, str, str]]:
    """Study, key and title of every exhibit."""
    return [(one.name, exhibit.key, exhibit.title) for one in studies for exhibit in one.exhibits]


def read_formats(text: str) -> tuple[str, ...]:
    """Formats of charts as people list them.

    >>> read_formats("png, pdf")
    ('png', 'pdf')
    """
    found = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    known = (*FORMATS, "json")
    unknown = [one for one in found if one not in known]
    if unknown:
        raise InvalidInput.must_be("formats", f"any of {listed(known, 'and')}", unknown[0])
    return found


def claims_table(claims: Sequence[Claim]) -> Table:
    """Claims as a table for people."""
    headings = ("where", "claim", "measured here", "verdict", "why")
    return Table(
        headings, tuple((c.place, c.statement, c.measured, c.verdict.value, c.why) for c in claims), strong=(3,)
    )


def _find_exhibit(study: Study, figure: str) -> Exhibit:
    found = next((exhibit for exhibit in study.exhibits if exhibit.key == figure), None)
    if found is None:
        keys = listed([exhibit.key for exhibit in study.exhibits], "and")
        raise InvalidInput.must_be("figure", f"one of {keys} for {study.name}", figure)
    return found


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
