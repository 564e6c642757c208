"""Questions asked of files: counts of a source, without a plan and without noise."""

from __future__ import annotations

from pathlib import Path

from discreet.engines.base import Counting
from discreet.engines.sources import Source, open_source
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question

KEY = b"sixteen bytes ok"


def counts(
    source: Source, sql: str, domain: dict[str, object] | None = None, unit: str = "row", k: int = 1
) -> list[int]:
    question = read_question(sql, unit=unit)
    groups = groups_from(domain, question.by) if domain else TOTAL
    return source.count([Counting(question, groups, unit, k, KEY)])[0].reshape(-1).tolist()


def by_site(source: Source, unit: str = "row") -> list[int]:
    """Rows, or people, of sites 1, 2 and 3."""
    sql = f"SELECT site, COUNT(*) FROM {source.dataset} GROUP BY site"
    return counts(source, sql, {"site": range(1, 4)}, unit)


def csv_source(folder: Path, content: bytes, name: str = "t.csv") -> Source:
    (folder / name).write_bytes(content)
    return open_source(folder / name)
