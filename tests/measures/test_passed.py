"""Every check has ``passed``, and a method that must be called is not taken for its answer."""

from __future__ import annotations

import inspect
import json
import pickle

import pytest

import discreet as dc
from discreet.errors import DiscreetError, WrongType
from discreet.ledger.entries import LedgerReport
from discreet.optimise.improve.structure import Derivability
from discreet.properties import CheckResult
from discreet.release.bundle.findings import BundleReport
from discreet.report import Check, Finding
from discreet.verification import ClaimVerdict, Refutation
from support.refusals import refused

HALF = dc.geometric(4, alpha="1/2")


def test_the_name_of_a_method_is_not_its_answer(tmp_path):
    HALF.save(tmp_path / "m.json")
    asked = [dc.verify(HALF), dc.verify([["3/4", "1/4"], ["1/4", "3/4"]]), dc.verify(tmp_path / "m.json")]
    for result in [*asked, dc.compose([HALF])]:
        with refused(WrongType, "holds") as problem:
            bool(result.holds)
        assert isinstance(problem.value, DiscreetError | TypeError) and ".holds(epsilon=" in str(problem.value)
        with refused(WrongType, "holds"):
            assert not result.holds
        assert result.holds(epsilon=2) and not result.holds(epsilon="1/2")
        assert result.holds(2, 0) and type(result).holds(result, 2)
        assert list(inspect.signature(result.holds).parameters) == ["epsilon", "delta"] and result.holds.__doc__
    assert pickle.loads(pickle.dumps(dc.verify(HALF))).holds(epsilon=2)


def test_a_verdict_passes_where_a_claim_was_judged_and_holds(tmp_path):
    file = tmp_path / "m.json"
    HALF.save(file)
    assert dc.verify(HALF).passed is True and dc.verify(HALF, "local").passed is None
    assert dc.verify(file).passed is True
    assert (
        dc.verify(file, epsilon="0.6").passed is False and dc.verify(file, epsilon="0.6").claim_verdict.passed is False
    )
    assert dc.verify(file, epsilon="0.7").passed is True
    lying = dc.Mechanism(HALF.inputs, HALF.outputs, dc.geometric(4, alpha="1/3").kernel, HALF.certificate, "geometric")
    assert dc.verify(lying).passed is False
    (tmp_path / "m.csv").write_text("0.75,0.25\n0.25,0.75\n")
    for subject in (tmp_path / "m.csv", [[0.75, 0.25], [0.25, 0.75]]):
        assert dc.verify(subject).passed is None  # nothing is claimed
    assert dc.verify(tmp_path / "m.csv", epsilon=1).passed is False
    content = json.loads(file.read_text())
    assert dc.verify(file).to_json()["holds"] is True and content["format"] == "discreet mechanism"
    with_delta = dc.bounded_noise(epsilon=1, stay="1/2", reach=4)
    with_delta.save(tmp_path / "b.json")
    assert dc.verify(with_delta).passed is dc.verify(tmp_path / "b.json").passed is True


def test_a_result_that_must_be_asked_has_no_truth_value(tmp_path):
    HALF.save(tmp_path / "m.json")
    (tmp_path / "m.csv").write_text("0.75,0.25\n0.25,0.75\n")
    ledger = dc.Ledger.create(tmp_path / "l.ledger", epsilon=1, dataset="d", unit="person")
    results = [
        dc.verify(HALF),
        dc.verify(tmp_path / "m.json"),
        dc.verify(tmp_path / "m.csv", epsilon=1),
        dc.verify(tmp_path / "m.json", epsilon=1).claim_verdict,
        dc.check(HALF),
        dc.compose([HALF]),
        ledger.verify(),
        Refutation("m.json", "m.json", "it was altered"),
        Finding("cost", True, ""),
        BundleReport("a bundle", (Finding("cost", True, ""),), None),
    ]
    for result in results:
        with refused(WrongType, "passed") as problem:
            bool(result)
        assert isinstance(problem.value, TypeError) and (
            ".passed" in str(problem.value) or ".holds(" in str(problem.value)
        )
    for failing in (
        dc.check(HALF)["F"],
        dc.derivable(dc.uniform(3), alpha="1/2"),
    ):  # their truth value is what they say
        assert bool(failing) is failing.passed


KINDS = [CheckResult, dc.Checks, Finding, BundleReport, LedgerReport, Derivability, ClaimVerdict, Refutation]


def test_each_single_check_is_a_finding(tmp_path):
    """What has a name, an outcome and a sentence of its own; the others are reports of several."""
    HALF.save(tmp_path / "m.json")
    claim = dc.verify(tmp_path / "m.json", epsilon=1).claim_verdict
    for finding in (claim, dc.check(HALF)["F"], dc.derivable(HALF), Finding("cost", None, "It is open.")):
        assert isinstance(finding, Finding) and finding.name and finding.sentence
        assert finding.mark == {True: "holds", False: "FAILS", None: "open"}[finding.holds]
    assert {kind for kind in KINDS if issubclass(kind, Finding)} == {CheckResult, Finding, Derivability, ClaimVerdict}


@pytest.mark.parametrize("kind", KINDS)
def test_every_check_has_passed(kind):
    assert issubclass(kind, Check) and kind.passed is Check.passed


def test_passed_says_what_holds_says(tmp_path):
    checks = dc.check(HALF)
    assert checks.passed is False and {code: one.passed for code, one in checks.items()} == {
        code: one.holds for code, one in checks.items()
    }
    assert dc.check(dc.uniform(3)).passed is True
    assert dc.check(HALF, "bias<=4")["bias<=4"].passed is True
    assert dc.derivable(HALF).passed is True
    assert [Finding("cost", holds, "").passed for holds in (True, False, None)] == [True, False, False]
    assert Refutation("m.json", "m.json", "it was altered").passed is False
    ledger = dc.Ledger.create(tmp_path / "l.ledger", epsilon=1, dataset="d", unit="person")
    assert ledger.verify().passed is True
