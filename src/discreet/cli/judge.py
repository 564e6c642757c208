"""Verbs of the judge: verify, check, explain."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from .output import Json, decide, print_json, print_table, say
from .ptable import claim_beside, table_as_json, tell_table

if TYPE_CHECKING:
    from ..privacy.verify import Verdict
    from ..privacy.witness import Witness

File = Annotated[
    Path,
    typer.Argument(
        help="A mechanism (.json), a matrix of probabilities (.csv, .txt, .npy), rows are truths, or a p-table; - "
        "reads it from standard input."
    ),
]


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            help="A mechanism (.json), a matrix (.csv, .txt, .npy; rows are truths), a p-table, or a bundle (folder); "
            "- reads one of the first three from standard input."
        ),
    ],
    epsilon: Annotated[str | None, typer.Option(help="Judge this epsilon instead of only measuring.")] = None,
    delta: Annotated[str | None, typer.Option(help="With --epsilon: the delta to judge, 0 if not given.")] = None,
    notion: Annotated[str | None, typer.Option(help="central (adjacent counts), local (any two) or metric.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="For a bundle: the ledger that paid for it.")] = None,
    json: Json = False,
) -> None:
    """Prove a mechanism's claim again, measure a matrix, or re-check everything a released bundle says.

    A mechanism file carries a claim, which is proved again; a CSV matrix carries none, so it is measured, or judged
    against `--epsilon` and `--delta`. A p-table is judged against what the file beside it states, if there is one. A
    bundle is what `discreet release` wrote. A file that was altered, or claims more than its numbers prove, does not
    hold (exit code 1); any other file cannot be used (2).

    Examples: `discreet verify m.json` · `discreet verify matrix.csv --epsilon 1 --delta 1e-6` ·
    `discreet verify ptable.csv` · `discreet verify health_by_site/ --ledger study.ledger`
    """
    from ..errors import Altered, InvalidInput, NotPrivate

    if file.is_dir():
        if epsilon is not None or delta is not None or notion is not None:
            raise InvalidInput(
                "a bundle is checked against what it says itself; leave --epsilon, --delta, --notion out."
            )
        _verify_bundle(file, ledger, json)
    if ledger is not None:
        raise InvalidInput("--ledger goes with a bundle, the folder that discreet release wrote.")
    if delta is not None and epsilon is None:
        raise InvalidInput("--delta goes with --epsilon: give both, or neither.")
    delta = delta or "0"
    try:
        subject, notes = _subject(file)
    except (Altered, NotPrivate) as problem:
        _refuted(file, str(problem), json)
    stated = _stated(subject) if epsilon is None else None
    epsilon, delta = (epsilon, delta) if stated is None else stated
    verdict = _verdict(subject, notion, notes)
    results = _properties(subject)
    claim = None if epsilon is None else verdict.holds(epsilon, delta)
    if json:
        print_json(_as_json(file, subject, verdict, results, epsilon, delta, claim))
    else:
        _tell(file, subject, verdict, results, epsilon, delta, claim)
    decide(claim is not False)


def _verify_bundle(folder: Path, ledger: Path | None, json: bool) -> NoReturn:
    from ..release.publish.audit import verify_bundle

    report = verify_bundle(folder, ledger)
    if json:
        print_json(report.to_json())
    else:
        say(str(report))
    decide(report.holds)


def _subject(file: Path) -> tuple[Any, tuple[str, ...]]:
    """What a file or standard input holds, and what had to be said about it."""
    import sys

    from ..files import read_subject, subject_from_text

    return subject_from_text(sys.stdin.buffer.read(), _name(file)) if str(file) == "-" else read_subject(file)


def _name(file: Path) -> str:
    return "standard input" if str(file) == "-" else str(file)


def _refuted(file: Path, problem: str, json: bool) -> NoReturn:
    """A file that does not have what it says is an answer to whoever asked for it to be verified."""
    if json:
        print_json({"file": str(file), "holds": False, "problem": problem})
    else:
        say(f"{_name(file)}: DOES NOT HOLD")
        say(f"problem   {problem}")
    decide(False)


def _verdict(subject: Any, notion: str | None, notes: tuple[str, ...]) -> Verdict:
    from dataclasses import replace

    from ..names import find_name
    from ..privacy.notions import NOTIONS
    from ..privacy.verify import verify as judge

    wanted = None if notion is None else find_name(notion, NOTIONS, "a notion")
    if notion is None and hasattr(subject, "certificate"):
        wanted = subject.certificate.notion
    verdict = judge(subject, wanted)
    return replace(verdict, notes=(*notes, *verdict.notes))


def _stated(subject: Any) -> tuple[str, str] | None:
    """A claim with a delta that comes with the subject: it is judged, as no finite epsilon says enough."""
    if _is_table(subject):
        return claim_beside(subject)
    certificate = getattr(subject, "certificate", None)
    return (
        None if certificate is None or not certificate.delta else (repr(certificate.epsilon), repr(certificate.delta))
    )


def _is_table(subject: Any) -> bool:
    return hasattr(subject, "cell_keys")


def _properties(subject: Any) -> dict[str, Any]:
    from ..checking import check as examine
    from ..errors import DiscreetError

    try:
        return dict(examine(subject))
    except DiscreetError:
        return {}  # an unbounded mechanism, or reports of another kind than truths: no property makes sense


def _ratio(verdict: Verdict) -> str | None:
    """The exact largest ratio as text; None where it has too many digits to be written out."""
    from ..errors import Unsupported

    try:
        ratio = verdict.ratio
    except Unsupported:
        return None
    if isinstance(ratio, float):
        return "infinity"
    return str(ratio) if ratio.denominator.bit_length() < 10_000 else None


def _number(value: float) -> float | str:
    return "infinity" if math.isinf(value) else value


def _witness(witness: Witness | None) -> dict[str, Any] | None:
    if witness is None:
        return None
    return {
        "truth": witness.truth,
        "other": witness.other,
        "reports": list(witness.reports),
        "probability": float(witness.probability),
        "other_probability": float(witness.other_probability),
        "sentence": str(witness),
    }


def _as_json(
    file: Path,
    subject: Any,
    verdict: Verdict,
    results: dict[str, Any],
    epsilon: str | None,
    delta: str,
    claim: bool | None,
) -> dict[str, Any]:
    content: dict[str, Any] = {
        "file": str(file),
        "holds": claim is not False,
        "notion": verdict.notion,
        "epsilon": _number(verdict.epsilon),
        "ratio": _ratio(verdict),
        "witness": _witness(verdict.witness),
        "properties": {code: result.holds for code, result in results.items()},
        "notes": list(verdict.notes),
    }
    if hasattr(subject, "certificate"):
        content["certificate"] = subject.certificate.to_json()
    if _is_table(subject):
        content["table"] = table_as_json(subject, verdict)
    if epsilon is not None:
        content["judged"] = {
            "epsilon": epsilon,
            "delta": delta,
            "holds": claim,
            "least_delta": verdict.delta(epsilon),
            "witness": _witness(verdict.delta_witness(epsilon)),
        }
    return content


def _tell(
    file: Path,
    subject: Any,
    verdict: Verdict,
    results: dict[str, Any],
    epsilon: str | None,
    delta: str,
    claim: bool | None,
) -> None:
    from ..exact.rationals import text_up

    if hasattr(subject, "certificate"):
        say(f"{_name(file)}: {subject!r}")
        say("claim     proved again from the numbers in the file")
    elif _is_table(subject):
        tell_table(_name(file), subject, verdict)
    else:
        rows, columns = subject.shape
        say(f"{_name(file)}: a matrix of {rows} truths by {columns} reports; it carries no claim")
    per = {"metric": " per unit of distance", "local": " between any two truths", "central": " between adjacent counts"}
    say(f"privacy   {verdict.notion}: epsilon = {text_up(verdict.epsilon)}{per[verdict.notion]}")
    ratio = _ratio(verdict)
    if ratio not in (None, "infinity") and len(str(ratio)) < 40:
        say(f"          the largest ratio of two probabilities is exactly {ratio}")
    say(f"witness   {verdict.witness}")
    for note in verdict.notes:
        say(f"note      {note}")
    if results:
        say(f"has       {_named(results, True)}")
        say(f"has not   {_named(results, False)}")
    else:
        say("          properties were not checked: there is no table of counts to check them on")
    if epsilon is not None:
        say(f"judged    epsilon = {epsilon}, delta = {delta} {'holds' if claim else 'DOES NOT HOLD'}")
        least, witness = text_up(verdict.delta(epsilon)), verdict.delta_witness(epsilon)
        say(f"          the least delta at this epsilon is {least}" + (f": {witness}" if witness else ""))


def _named(results: dict[str, Any], holds: bool) -> str:
    return ", ".join(f"{r.name} ({code})" for code, r in results.items() if r.holds is holds) or "none"


def check(
    file: File,
    require: Annotated[str | None, typer.Option(help="Properties that must hold, such as WH,CM or bias<=0.")] = None,
    tolerance: Annotated[
        str | None, typer.Option(help="Forgive violations up to this: 1e-9 by default for decimals, else 0.")
    ] = None,
    json: Json = False,
) -> None:
    """Check the structural properties of a mechanism: symmetric, honest, monotone, fair.

    Examples: `discreet check m.json` · `discreet check matrix.csv --require WH,CM`
    """
    from ..checking import check as examine
    from ..errors import InvalidInput
    from ..exact.rationals import as_fraction
    from ..properties import listed

    subject, _ = _subject(file)
    if require is not None and not require.strip(" ,;+"):
        raise InvalidInput("--require names properties, such as WH,CM; it is empty.")
    required = None if require is None else [code for code in listed(require) if code]
    forgiven = None if tolerance is None else float(as_fraction(tolerance, "tolerance"))
    results = examine(subject, required, tolerance=forgiven)
    holds = all(result.holds for result in results.values())
    if json:
        print_json(
            {
                code: {
                    "name": r.name,
                    "holds": r.holds,
                    "violation": str(r.violation) if r.tolerance == 0 else float(r.violation),
                    "where": r.where,
                    "tolerance": r.tolerance,
                    "sentence": r.sentence,
                }
                for code, r in results.items()
            }
        )
    else:
        cells = [
            [code, r.name, "yes" if r.holds else "NO", "" if r.holds else r.where or ""] for code, r in results.items()
        ]
        print_table(["", "property", "holds", "where it fails worst"], cells)
        allowed = max(r.tolerance for r in results.values())
        say("decided exactly" if allowed == 0 else f"checked within {allowed:g}; --tolerance 0 decides exactly")
    if require is not None:
        decide(holds)


def explain(
    file: Annotated[Path, typer.Argument(help="A mechanism (.json); - reads it from standard input.")],
    prior: Annotated[str, typer.Option(help="What someone believes beforehand, a probability.")] = "1/2",
    people: Annotated[int, typer.Option(help="How far one person can move the count.")] = 1,
    distance: Annotated[str | None, typer.Option(help="For maps: how far apart two places are.")] = None,
    json: Json = False,
) -> None:
    """Say in plain words what a mechanism guarantees: odds, beliefs, what a test could find out.

    Example: `discreet explain m.json --prior 0.1`
    """
    from ..errors import InvalidInput
    from ..explanation import explain as put

    mechanism, _ = _subject(file)
    if not hasattr(mechanism, "certificate"):
        raise InvalidInput(
            f"{file} carries no claim that could be explained; measure it with: discreet verify {file}, or make it a "
            "mechanism with dc.from_matrix in Python."
        )
    words = put(mechanism, prior=prior, people=people, distance=distance)
    if json:
        print_json(
            {
                "epsilon": _number(words.epsilon),
                "delta": words.delta,
                "odds_ratio": _number(words.odds_ratio),
                "prior": words.prior,
                "posterior_at_most": words.posterior,
                "sentences": list(words.sentences),
            }
        )
    else:
        say(str(words))
