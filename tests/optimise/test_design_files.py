"""A design's file states its cost, which is worked out again."""

from __future__ import annotations

import json

import pytest

import discreet as dc
from discreet.errors import UnreadableFile
from discreet.mechanism import fingerprint


def _forged(mechanism, path, alter):
    content = mechanism.to_json()
    alter(content)
    del content["sha256"]
    path.write_text(json.dumps({**content, "sha256": fingerprint(content)}))
    return path


@pytest.mark.parametrize(
    "alter",
    [
        lambda c: c["certificate"]["details"].update(least=99.0),
        lambda c: c["certificate"]["details"].update(cost="1/100", cost_about=0.01),
        lambda c: c["parameters"].update(n=50),
    ],
    ids=["least above cost", "wrong cost", "wrong n"],
)
def test_a_file_with_an_impossible_cost_is_refused(tmp_path, alter):
    m = dc.design(6, alpha="9/10", loss="L1", properties=["WH", "CM"])
    with pytest.raises(UnreadableFile):
        dc.load(_forged(m, tmp_path / "m.json", alter))
