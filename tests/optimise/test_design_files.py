"""A design's file states its cost, which is worked out again."""

from __future__ import annotations

import json

import pytest

import discreet as dc
from discreet.errors import UnreadableFile
from discreet.mechanism import fingerprint
from discreet.optimise.design.report import report_of_design


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
        lambda c: c["certificate"]["details"].update(cost_about=0.01),
        lambda c: c["parameters"].update(n=50),
        lambda c: c["parameters"].update(alpha="99/100"),
        lambda c: c.update(approved_by="the board"),
        lambda c: c["certificate"].update(approved_by="the board"),
    ],
    ids=["least above cost", "wrong cost", "wrong decimal cost", "wrong n", "more privacy", "a field", "another field"],
)
def test_a_file_with_an_impossible_cost_is_refused(tmp_path, alter):
    m = dc.design(6, alpha="9/10", loss="L1", properties=["WH", "CM"])
    with pytest.raises(UnreadableFile):
        dc.load(_forged(m, tmp_path / "m.json", alter))


def test_the_least_cost_in_a_file_is_stated_and_not_proved(tmp_path):
    """No mechanism costs less than ``least``: that takes a linear program, which loading does not run."""
    m = dc.design(6, alpha="9/10", loss="L1", properties=["WH", "CM"])
    cost = m.certificate.details["cost_about"]
    file = _forged(m, tmp_path / "m.json", lambda c: c["certificate"]["details"].update(least=cost, gap=0.0))
    loaded = dc.load(file)
    assert not m.certificate.unproved and "unproved" not in m.certificate.to_json()
    assert {"least", "gap", "certified", "alpha"} <= set(loaded.certificate.unproved)
    assert not {"n", "properties", "loss", "prior", "cost", "cost_about"} & set(loaded.certificate.unproved)
    assert "NOT proved again" in dc.verify(file).describe()
    assert dc.verify(file).to_json()["certificate"]["unproved"] == list(loaded.certificate.unproved)
    assert "least (stated in the file, not proved)" in repr(loaded.certificate.report())
    assert "(not proved)" in report_of_design(loaded).text() and "not proved" not in report_of_design(m).text()


def test_a_design_from_a_file_is_written_as_it_was_and_a_closed_form_is_proved_whole(tmp_path):
    m = dc.design(6, alpha="9/10", loss="L1", properties=["WH", "CM"])
    m.save(tmp_path / "m.json")
    dc.load(tmp_path / "m.json").save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    dc.geometric(6, alpha="9/10").save(tmp_path / "closed.json")
    assert dc.load(tmp_path / "closed.json").certificate.unproved == ()
