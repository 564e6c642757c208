"""Writes ``claims.md``: every claim of the papers with its verdict, from the files of a full run of the studies.

``discreet study all --full --out FOLDER --formats json``, then ``python docs/claims.py FOLDER``. Charts whose data
shows people's places or rows cell by cell stay out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from discreet.plots import Chart
from discreet_studies.claims import Verdict
from discreet_studies.registry import STUDIES
from discreet_studies.study import Exhibit, Study

HERE = Path(__file__).resolve().parent
PICTURES = HERE / "_static" / "studies"

HEAD = """# Every claim of the papers, judged

`discreet` implements four papers. `discreet study` computes their figures and tables again and judges every claim; this page
has the verdicts of a full run ([how to run it](howto_studies.md)). The papers are cited as in the [formulas](formulas.md); [R] marks
[new results](results.md).

| study | paper | holds | with correction | does not hold |
| --- | --- | ---: | ---: | ---: |
"""


def page(folder: Path) -> str:
    """The page, from the files of a run."""
    results = {study.name: json.loads((folder / study.name / "study.json").read_text("utf-8")) for study in STUDIES}
    lines = [HEAD.rstrip("\n")]
    for study in STUDIES:
        counts = [sum(c["verdict"] == verdict for c in results[study.name]["claims"]) for verdict in Verdict]
        numbers = " | ".join(map(str, counts))
        lines.append(f"| [{study.name}](#study-{study.name}) | [{study.letter}] {study.paper} | {numbers} |")
    for study in STUDIES:
        lines += section(study, results[study.name], folder / study.name)
    return "\n".join(lines) + "\n"


def section(study: Study, run: dict, folder: Path) -> list[str]:
    """A paper: its claims, then its pictures with what was chosen."""
    lines = ["", f"(study-{study.name})=", f"## [{study.letter}] {study.paper}", ""]
    lines += ["| where | claim | measured here | verdict | why |", "| --- | --- | --- | --- | --- |"]
    lines += [
        "| " + " | ".join(cell(claim[name]) for name in ("place", "statement", "measured", "verdict", "why")) + " |"
        for claim in run["claims"]
    ]
    exhibits = {exhibit.key: exhibit for exhibit in study.exhibits}
    for one in run["exhibits"]:
        lines += pictures(study, exhibits[one["figure"]], one, folder)
    return lines


def pictures(study: Study, exhibit: Exhibit, one: dict, folder: Path) -> list[str]:
    """The charts of an exhibit, drawn from their specifications, and what the paper leaves open."""
    lines = ["", f"### [{study.letter}] {exhibit.called}: {exhibit.title}"]
    if exhibit.by_cell:
        lines += ["", "Its picture shows the data place by place and is not passed on; a run with the data draws it."]
    for name in () if exhibit.by_cell else one["charts"]:
        spec = json.loads((folder / f"{name}.json").read_text("utf-8"))
        target = PICTURES / study.name / f"{name}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        Chart(spec).save(target, scale=1.3)
        lines += ["", f"![{spec['title']['text']}](_static/studies/{study.name}/{target.name})"]
    return lines + (["", *(f"- {sentence}" for sentence in one["chosen"])] if one["chosen"] else [])


def cell(text: str) -> str:
    """Text in a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("$", "\\$").replace("*", "\\*").replace("_", "\\_").replace("\n", " ")


if __name__ == "__main__":
    (HERE / "claims.md").write_text(page(Path(sys.argv[1])), encoding="utf-8")
