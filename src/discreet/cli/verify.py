"""The verbs verify, check and explain."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import Json, Page, decide, hand_over, refuse_unwritable

if TYPE_CHECKING:
    from ..release.bundle.findings import BundleReport

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
    delta: Annotated[str | None, typer.Option(help="With --epsilon: the delta to judge; default 0.")] = None,
    notion: Annotated[str | None, typer.Option(help="central (adjacent counts), local (any two) or metric.")] = None,
    space: Annotated[
        str | None, typer.Option(help="For a matrix: a file of the space of its rows (.json, or .csv of distances).")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="For a bundle: the ledger that paid for it.")] = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Prove a mechanism's claim again, measure a matrix, or check every statement of a released bundle.

    A mechanism file carries a claim, which is proved again; a CSV matrix carries none, so it is measured, or judged
    against `--epsilon` and `--delta`. A p-table is judged against the claim in the file next to it, if there is one. A
    bundle is the output of `discreet release`. A file that was altered, or claims more than its numbers prove, does not
    hold (exit code 1); an unusable file is an error (2).

    Examples: `discreet verify m.json` · `discreet verify matrix.csv --epsilon 1 --delta 1e-6` ·
    `discreet verify ptable.csv` · `discreet verify health_by_site/ --ledger study.ledger`
    """
    from ..errors import Altered, NotPrivate
    from ..privacy.notions import NOTIONS
    from ..verification import FileVerdict, Refutation, verify_text
    from ..verification import verify as judge
    from ..wording import find_name

    refuse_unwritable(page, (".html",), "a page")
    notion_name = None if notion is None else find_name(notion, NOTIONS, "a notion", argument="notion")
    inputs = None
    if space is not None:
        from ..space_files import read_space

        inputs = read_space(space)
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read()
            verdict: FileVerdict | BundleReport = verify_text(
                data, _name(file), notion=notion_name, epsilon=epsilon, delta=delta, inputs=inputs
            )
        else:
            verdict = judge(file, notion_name, inputs=inputs, epsilon=epsilon, delta=delta, ledger=ledger)
    except (Altered, NotPrivate) as problem:
        hand_over(Refutation(str(file), _name(file), str(problem)), page, json)
        decide(False)
    hand_over(verdict, page, json)
    decide(verdict.claim_holds if isinstance(verdict, FileVerdict) else verdict.holds)


def _name(file: Path) -> str:
    return "standard input" if str(file) == "-" else str(file)


def _subject(file: Path) -> tuple[Any, tuple[str, ...]]:
    """Return the content of a file or of standard input, and notes about it."""
    from ..files import read_subject, subject_from_text

    return subject_from_text(sys.stdin.buffer.read(), _name(file)) if str(file) == "-" else read_subject(file)


def check(
    file: File,
    require: Annotated[str | None, typer.Option(help="Properties that must hold, such as WH,CM or bias<=0.")] = None,
    tolerance: Annotated[
        str | None, typer.Option(help="Forgive violations up to this: 1e-9 by default for decimals, else 0.")
    ] = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Check the structural properties of a mechanism: symmetric, honest, monotone, fair.

    Examples: `discreet check m.json` · `discreet check matrix.csv --require WH,CM`
    """
    from ..checking import check as examine
    from ..errors import InvalidInput
    from ..exact.rationals import as_fraction
    from ..properties import split_codes

    refuse_unwritable(page, (".html",), "a page")
    subject, _ = _subject(file)
    if require is not None and not require.strip(" ,;+"):
        raise InvalidInput("--require names properties, such as WH,CM; it is empty.", argument="require")
    required = None if require is None else [code for code in split_codes(require) if code]
    allowance = None if tolerance is None else float(as_fraction(tolerance, "tolerance"))
    checks = examine(subject, required, tolerance=allowance)
    hand_over(checks, page, json)
    if require is not None:
        decide(checks.holds)


def explain(
    file: Annotated[
        Path, typer.Argument(help="A mechanism (.json), or a bundle (folder); - reads a mechanism from standard input.")
    ],
    prior: Annotated[str, typer.Option(help="The prior belief, a probability.")] = "1/2",
    people: Annotated[int, typer.Option(help="How far one person can move the count.")] = 1,
    distance: Annotated[str | None, typer.Option(help="For maps: how far apart two places are.")] = None,
    ledger: Annotated[str | None, typer.Option(help="For a bundle: the ledger that paid for it.")] = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Explain in plain words what a mechanism or a bundle guarantees: odds, beliefs, what is not covered.

    Examples: `discreet explain m.json --prior 0.1` · `discreet explain health_by_site/ --ledger study.ledger`
    """
    from ..errors import InvalidInput
    from ..explanation import explain as explain_mechanism

    refuse_unwritable(page, (".html",), "a page")
    if file.is_dir():
        if (prior, people, distance) != ("1/2", 1, None):
            raise InvalidInput("a bundle has its own beliefs and steps.", "Leave --prior, --people, --distance out.")
        from ..release.explain import explain_bundle

        hand_over(explain_bundle(file, ledger), page, json)
        return
    if ledger is not None:
        raise InvalidInput("--ledger is for bundles.", "Leave it out for a mechanism.", argument="ledger")
    mechanism, _ = _subject(file)
    if not hasattr(mechanism, "certificate"):
        raise InvalidInput(
            f"{file} carries no claim that could be explained.",
            f"Measure it with: discreet verify {file}, or make it a mechanism with dc.from_matrix in Python.",
        )
    words = explain_mechanism(mechanism, prior=prior, people=people, distance=distance)
    hand_over(words, page, json)
