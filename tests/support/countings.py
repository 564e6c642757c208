"""Countings to ask of an engine."""

from __future__ import annotations

from typing import Any

from discreet.engines.base import Counting
from discreet.questions.groups import TOTAL, groups_from
from discreet.questions.question import read_question

#: Key of the hash that bounds contributions, the same in every test.
KEY = bytes(range(16))


def counting(sql: str, unit: str = "row", k: int = 1, **domain: Any) -> Counting:
    """Return the counting of a question for groups of these values, with at most ``k`` groups for each unit."""
    question = read_question(sql, unit=unit)
    return Counting(question, groups_from(domain, question.by) if domain else TOTAL, unit, k, KEY)
