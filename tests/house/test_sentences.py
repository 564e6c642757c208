"""What refusals say to people, in full: the one place where sentences are pinned."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.sentences import Sentence, pinned, spoken

SENTENCES = pinned()


def test_every_refusal_says_what_is_written_down(tmp_path: Path) -> None:
    """After a change of words: `python -m support.sentences` in tests/, and read the diff."""
    now = [Sentence(one.does, spoken(one.does, tmp_path)) for one in SENTENCES]
    assert now == SENTENCES
    assert len(SENTENCES) > 50


def test_a_call_that_is_not_refused_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="is not refused"):
        spoken("dc.geometric(10, epsilon=1)", tmp_path)
    with pytest.raises(AssertionError, match="is not refused"):
        spoken("$ discreet design -n 4 --epsilon 1 --family geometric", tmp_path)
