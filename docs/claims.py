"""Writes ``claims.md`` and ``claims.json``: every claim of the papers with its verdict, from the files of runs.

``discreet study all --full --out FOLDER --formats json``, then ``python docs/claims.py FOLDER``. With several folders
an exhibit is taken from the last one that has it, so that one figure can be run again alone. Charts whose data shows
people's places or rows cell by cell stay out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.plots import Chart
from discreet_studies.claims import Basis, Verdict
from discreet_studies.registry import STUDIES
from discreet_studies.running import published
from discreet_studies.study import Exhibit, Study

HERE = Path(__file__).resolve().parent
PICTURES = HERE / "_static" / "studies"

HEAD = """# Every claim of the papers, judged

`discreet` implements four papers. `discreet study` computes their figures and tables again and judges every claim; this page
has the verdicts of a full run ([how to run it](howto_studies.md)), and [claims.json](claims.json) has them for programs: claim, equation, verdict, code
and DOI (of [S] and [C]; those of [F] and [A] could not be looked up). The papers are cited as in the [formulas](formulas.md); [R] marks [results of our own](results.md), which we test ourselves.

**Four verdicts.** A claim *holds*, *holds with correction*, *does not hold*, or is *undecidable as worded*. "Much lower" is judged as "lower, beyond chance". A degree alone
("similar", "negligible", "hardly") has no verdict unless the paper gives a number, because a threshold would be ours; what was measured is given with it.

**Four kinds of evidence**, in tables of their own: mathematics, which needs no data; the paper's data; data drawn as the paper describes, with what it leaves open chosen here; and
data of ours, which the paper never spoke of. Only the first three judge the paper.
"""

#: The headings of the tables, by what their verdicts rest on.
HEADINGS = {
    Basis.MATHEMATICS: "Without data",
    Basis.THEIRS: "On the paper's data",
    Basis.DRAWN: "On data drawn as the paper describes",
    Basis.OURS: "On data of ours",
}

SELF_TESTED = (
    "**Self-tested.** These claims are ours, and so are the code and the tests that judge them: nobody else has checked "
    "them. The pages of the [results](results.md) have the proofs."
)

COLUMNS = ("place", "statement", "measured", "verdict", "why")


@dataclass(frozen=True)
class ExhibitRun:
    """An exhibit of one run: its JSON, its claims, and the folder with its charts."""

    exhibit: dict[str, Any]
    claims: list[dict[str, Any]]
    quick: bool
    folder: Path


def collected(folders: Iterable[Path]) -> dict[tuple[str, str], ExhibitRun]:
    """Read the exhibits of all runs by study and key; later runs replace earlier ones."""
    runs: dict[tuple[str, str], ExhibitRun] = {}
    for folder in folders:
        for study in STUDIES:
            file = folder / study.name / "study.json"
            if not file.is_file():
                continue
            run = json.loads(file.read_text("utf-8"))
            for one in run["exhibits"]:
                claims = [claim for claim in run["claims"] if claim["figure"] == one["figure"]]
                runs[study.name, one["figure"]] = ExhibitRun(one, claims, run["quick"], file.parent)
    missing = [f"{study.name} {e.key}" for study in STUDIES for e in study.exhibits if (study.name, e.key) not in runs]
    if missing:
        sys.exit(f"no run has {', '.join(missing)}")
    return runs


def page(runs: Mapping[tuple[str, str], ExhibitRun]) -> str:
    """Return the page."""
    lines = [HEAD.rstrip("\n"), ""]
    lines += [f"| study | evidence | {' | '.join(verdict.value for verdict in Verdict)} |"]
    lines += ["| --- | --- |" + " ---: |" * len(Verdict)]
    for study in STUDIES:
        claims = claims_of(study, runs)
        for basis in Basis:
            some = [claim for claim in claims if claim["basis"] == basis]
            counts = " | ".join(str(sum(claim["verdict"] == verdict for claim in some)) for verdict in Verdict)
            if some:
                kind = "self-tested" if study.self_tested else HEADINGS[basis].lower()
                lines.append(f"| [{study.name}](#study-{study.name}) [{study.letter}] | {kind} | {counts} |")
    quick = [f"{name} {figure}" for (name, figure), run in runs.items() if run.quick]
    if quick:
        lines += ["", f"From a quick run, with wide error bars: {', '.join(sorted(quick))}."]
    for study in STUDIES:
        lines += section(study, runs)
    return "\n".join(lines) + "\n"


def claims_of(study: Study, runs: Mapping[tuple[str, str], ExhibitRun]) -> list[dict[str, Any]]:
    """Return the claims of a study in the order of its exhibits."""
    return [claim for exhibit in study.exhibits for claim in runs[study.name, exhibit.key].claims]


def section(study: Study, runs: Mapping[tuple[str, str], ExhibitRun]) -> list[str]:
    """Return a paper: its claims by what they rest on, then its pictures with what was chosen."""
    lines = ["", f"(study-{study.name})=", f"## [{study.letter}] {study.paper}"]
    lines += ["", f"[doi.org/{study.doi}](https://doi.org/{study.doi})"] if study.doi else []
    lines += ["", SELF_TESTED] if study.self_tested else []
    claims = claims_of(study, runs)
    lines += on_both(claims)
    for basis in Basis:
        some = [claim for claim in claims if claim["basis"] == basis]
        if some:
            lines += [] if study.self_tested else ["", f"### [{study.letter}] {HEADINGS[basis]}"]
            lines += table(some)
    for exhibit in study.exhibits:
        lines += pictures(study, exhibit, runs[study.name, exhibit.key])
    return lines


def on_both(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what holds on Gowalla and on the synthetic check-ins, and what does not."""
    verdicts = {claim["key"]: claim["verdict"] for claim in claims}
    pairs = {key: (verdict, verdicts.get(f"synthetic, {key}")) for key, verdict in verdicts.items()}
    both = {key: pair for key, pair in pairs.items() if pair[1] is not None}
    if not both:
        return []
    same = [f"“{key}” ({first})" for key, (first, second) in both.items() if first == second]
    other = [f"“{key}” ({first}; synthetic: {second})" for key, (first, second) in both.items() if first != second]
    lines = ["", f"**On both Gowalla and synthetic check-ins** {len(same)} of {len(both)} verdicts are the same: "]
    lines[-1] += f"{', '.join(same)}. "
    lines[-1] += f"Different are {', '.join(other)}." if other else "None is different."
    return lines


def table(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return claims as a Markdown table."""
    lines = ["", "| where | claim | measured here | verdict | why |", "| --- | --- | --- | --- | --- |"]
    return lines + ["| " + " | ".join(cell(claim[name]) for name in COLUMNS) + " |" for claim in claims]


def pictures(study: Study, exhibit: Exhibit, run: ExhibitRun) -> list[str]:
    """Return the charts of an exhibit, drawn from their specifications, and what the paper leaves open."""
    one = run.exhibit
    if not (exhibit.by_cell or one["charts"] or one["chosen"]):
        return []
    lines = ["", f"### [{study.letter}] {exhibit.called}: {exhibit.title}"]
    if exhibit.by_cell:
        lines += ["", "Its picture shows the data place by place and is not passed on; a run with the data draws it."]
    for name in () if exhibit.by_cell else one["charts"]:
        spec = json.loads((run.folder / f"{name}.json").read_text("utf-8"))
        target = PICTURES / study.name / f"{name}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        Chart(spec).save(target, scale=1.3)
        lines += ["", f"![{spec['title']['text']}](_static/studies/{study.name}/{target.name})"]
    return lines + (["", *(f"- {sentence}" for sentence in one["chosen"])] if one["chosen"] else [])


def index(runs: Mapping[tuple[str, str], ExhibitRun]) -> str:
    """Return ``claims.json``."""
    whole = [
        {
            "study": study.name, "doi": study.doi, "self_tested": study.self_tested,
            "quick": runs[study.name, exhibit.key].quick, "claims": runs[study.name, exhibit.key].claims,
        }
        for study in STUDIES
        for exhibit in study.exhibits
    ]  # fmt: skip
    return json.dumps(published(whole), ensure_ascii=False, indent=1) + "\n"


def cell(text: str) -> str:
    """Return text for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("$", "\\$").replace("*", "\\*").replace("_", "\\_").replace("\n", " ")


if __name__ == "__main__":
    claims = collected(map(Path, sys.argv[1:]))
    (HERE / "claims.md").write_text(page(claims), encoding="utf-8")
    (HERE / "claims.json").write_text(index(claims), encoding="utf-8")
