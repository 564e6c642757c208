"""``dc.verify``: judge a mechanism, a matrix, a file of one, or a released bundle, as ``discreet verify`` does."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from .checking import Checks, check
from .errors import DiscreetError, InvalidInput, arg, named, warn_renamed
from .exact.rationals import Number, text_up
from .exact.tables import Table as Probabilities
from .files import read_subject, subject_from_text
from .mechanism import Mechanism, of_probabilities
from .privacy import verify as judge
from .privacy.verify import Verdict
from .privacy.witness import Witness
from .ptables.table import PTable
from .report import Check, Fact, Finding, Json, Report, Result, Section, Terms, stamped
from .spaces import Space
from .wording import listed

if TYPE_CHECKING:
    from .ledger.ledger import Ledger
    from .release.bundle.findings import BundleReport

#: Maximum number of truths and reports for which a page shows all probabilities.
_MAX_SHOWN = 60


@dataclass(frozen=True)
class ClaimVerdict(Finding):
    """The verdict on a claim: whether it holds, the least delta at its epsilon, and its witness."""

    holds: bool
    epsilon: str
    delta: str
    least_delta: float
    witness: Witness | None

    def to_json(self) -> dict[str, Json]:
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "holds": self.holds,
            "least_delta": self.least_delta,
            "witness": None if self.witness is None else self.witness.to_json(),
        }


@dataclass(frozen=True)
class FileVerdict(Verdict):
    """The verdict on a file: a :class:`Verdict`, the content of the file, its properties, and its claim.

    Attributes
    ----------
    name
        Name of the file.
    subject
        Its content: a mechanism, an exact table of probabilities or a p-table.
    properties
        Checks of its properties; empty without a table of counts.
    claim_verdict
        The verdict on a claim: the requested one, or the file's own with a delta; None without a claim.

    Examples
    --------
    >>> import discreet as dc, os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "m.json")
    >>> dc.geometric(4, alpha="1/2").save(file)
    >>> v = dc.verify(file, epsilon="0.6")
    >>> v.ratio, v.passed, v.properties["F"].passed
    (Fraction(2, 1), False, False)
    """

    name: str = ""
    subject: Mechanism | Probabilities | PTable | None = field(default=None, repr=False)
    properties: Checks = field(default_factory=Checks, repr=False)
    claim_verdict: ClaimVerdict | None = None

    @property
    def judged(self) -> ClaimVerdict | None:
        """Deprecated alias of ``claim_verdict``."""
        warn_renamed("judged", "claim_verdict")
        return self.claim_verdict

    @property
    def claim_holds(self) -> bool:
        """True if the claim holds, or without a claim."""
        return self.claim_verdict is None or self.claim_verdict.holds

    @property
    def passed(self) -> bool | None:
        """True if the claim holds; True for a mechanism, whose claim was proved again when it was read.

        None without a claim: a matrix or a p-table without ``epsilon``.
        """
        return self.claim_holds if self.claim_verdict is not None or isinstance(self.subject, Mechanism) else None

    def to_json(self) -> dict[str, Json]:
        """Return the verdict, the properties and the claim as plain JSON values."""
        content: dict[str, Json] = {
            "file": self.name,
            "holds": self.passed,
            **self.figures(),
            "properties": {code: result.holds for code, result in self.properties.items()},
        }
        if isinstance(self.subject, Mechanism):
            content["certificate"] = self.subject.certificate.to_json()
        if isinstance(self.subject, PTable):
            content["table"] = self.subject.figures(self)
        if self.claim_verdict is not None:
            content["judged"] = self.claim_verdict.to_json()
        return stamped("verdict", 1, content)

    def report(self) -> Report:
        """Return the content of the file, its privacy, its properties, and whether the claim holds."""
        lines = (*self._subject_lines(), *self.lines(), *(("note", note) for note in self.notes))
        facts = self.facts()
        if self.claim_verdict is not None:
            holds = "holds" if self.claim_verdict.holds else "does NOT hold"
            facts = (Fact(holds, self.claim_verdict.name), *facts)
        sections = [Section(parts=(Terms((*lines, *self._property_lines(), *self._claim_lines())),))]
        sections += self._picture()
        if len(self.properties):
            sections.append(Section("Properties", (self.properties.table(),), "pages"))
        return Report(f"{self.name}: {self._what()}", "Verdict", facts, tuple(sections))

    def _what(self) -> str:
        if isinstance(self.subject, Probabilities):
            rows, columns = self.subject.shape
            return f"a matrix of {rows} truths by {columns} reports; it carries no claim"
        return self.subject.title if isinstance(self.subject, Mechanism) else str(self.subject)

    def _subject_lines(self) -> tuple[tuple[str, str], ...]:
        if isinstance(self.subject, Mechanism):
            unproved = self.subject.certificate.unproved
            lines = (("made by", repr(self.subject)), ("claim", "proved again from the numbers in the file"))
            note = ("stated", f"{listed(unproved)}: NOT proved again, only what the file says")
            return (*lines, note) if unproved else lines
        return self.subject.lines(self) if isinstance(self.subject, PTable) else ()

    def _property_lines(self) -> list[tuple[str, str]]:
        if not len(self.properties):
            return [("", "properties were not checked: there is no table of counts to check them on")]
        return [("has", self._named(True)), ("has not", self._named(False))]

    def _named(self, holds: bool) -> str:
        names = (f"{r.name} ({code})" for code, r in self.properties.items() if r.holds is holds)
        return ", ".join(names) or "none"

    def _claim_lines(self) -> list[tuple[str, str]]:
        if self.claim_verdict is None:
            return []
        claim = self.claim_verdict
        outcome = "holds" if claim.holds else "DOES NOT HOLD"
        return [("judged", f"{claim.name} {outcome}"), ("", claim.sentence)]

    def _picture(self) -> list[Section]:
        if isinstance(self.subject, Mechanism):
            shape = (self.subject.inputs.size, self.subject.outputs.size)
        elif isinstance(self.subject, Probabilities):
            shape = self.subject.shape
        else:
            return []
        if not all(size is not None and size <= _MAX_SHOWN for size in shape):
            return []
        return [Section(parts=(of_probabilities(self.subject),), depth="pages")]


@dataclass(frozen=True)
class Refutation(Check, Result):
    """The verdict on a file that was altered, or that claims more than its numbers prove.

    Attributes
    ----------
    file
        Its path, or - for standard input.
    name
        Its name in messages.
    problem
        The error, in a sentence.
    """

    file: str
    name: str
    problem: str

    @property
    def holds(self) -> bool:
        """False: it was refuted."""
        return False

    def to_json(self) -> dict[str, Json]:
        """Return the verdict, as plain JSON values."""
        return stamped("verdict", 1, {"file": self.file, "holds": False, "problem": self.problem})

    def report(self) -> Report:
        """Return a report that the claim does not hold, and why."""
        lines = Section(parts=(Terms((("problem", self.problem),)),))
        return Report(f"{self.name}: DOES NOT HOLD", "Verdict", (Fact("does NOT hold", self.name),), (lines,))


@overload
def verify(
    mechanism: str | Path,
    notion: str | None = None,
    *,
    inputs: Space | None = None,
    exact: bool = True,
    epsilon: Number | None = None,
    delta: Number | None = None,
    ledger: Ledger | str | Path | None = None,
) -> FileVerdict | BundleReport: ...


@overload
def verify(
    mechanism: Any, notion: str | None = None, *, inputs: Space | None = None, exact: bool = True
) -> Verdict: ...


def verify(
    mechanism: object,
    notion: str | None = None,
    *,
    inputs: Space | None = None,
    exact: bool = True,
    epsilon: Number | None = None,
    delta: Number | None = None,
    ledger: Ledger | str | Path | None = None,
) -> Verdict | BundleReport:
    """Judge how well a mechanism hides one truth among others, or check the claims of a file or a bundle.

    Parameters
    ----------
    mechanism
        A mechanism, or a matrix with a row of report probabilities for each truth (array, nested lists, data frame;
        text and fractions are read exactly, floats by their decimals). Or the path of a file that holds one (what
        ``m.save`` wrote, a .csv or .npy matrix, a p-table), or of the folder of a released bundle.
    notion
        "central" (adjacent counts; the default for counts), "local" (any two truths; the default for labels) or
        "metric" (per unit of distance; the default for maps).
    inputs
        For a matrix: the space of its rows. If not given, labels where the rows of a data frame or a file have names
        other than consecutive numbers, else ``Counts(rows - 1)``.
    exact
        False screens in floats only and adds the error bound: quick, still a valid upper bound, but not tight to the
        last digit.
    epsilon, delta
        For a file: the claim to judge, instead of its own.
    ledger
        For a bundle: the ledger that paid for it.

    Returns
    -------
    Verdict, FileVerdict or BundleReport
        ``ratio`` (exact), ``epsilon``, ``delta(epsilon)``, ``witness``, ``holds(epsilon, delta)``, and ``passed``:
        whether the claim that comes with a mechanism or a file holds. Of a file also its properties. Of a bundle a
        check for each promise (:func:`discreet.verify_bundle`).

    Raises
    ------
    Altered, NotPrivate
        If a file was altered, or claims more than its numbers prove.

    Examples
    --------
    >>> v = verify([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> v.ratio
    Fraction(3, 1)
    >>> v.holds(epsilon=1.0), v.holds(epsilon=1.1)
    (False, True)
    """
    if not isinstance(mechanism, str | Path):
        if epsilon is not None or delta is not None:
            raise InvalidInput(
                f"{arg('epsilon')} and {arg('delta')} go with a file.",
                "Ask the verdict: dc.verify(m).holds(epsilon=..., delta=...).",
            )
        if ledger is not None:
            raise InvalidInput(f"{arg('ledger')} goes with a bundle, the folder that a release wrote.")
        return judge.verify(mechanism, notion, inputs=inputs, exact=exact)
    _refuse_lone_delta(epsilon, delta)
    path = Path(mechanism)
    if path.is_dir():
        if epsilon is not None or delta is not None or notion is not None:
            raise InvalidInput(
                "a bundle is checked against its own claims.",
                f"Leave {arg('epsilon')}, {arg('delta')}, {arg('notion')} out.",
            )
        from .release.bundle.verify import verify_bundle  # imports engines, which only bundles need

        return verify_bundle(path, ledger)
    if ledger is not None:
        raise InvalidInput(f"{arg('ledger')} goes with a bundle, the folder that a release wrote.")
    if (path.parent / "request.json").is_file():
        from .release.bundle.write import refuse_part_of_bundle

        refuse_part_of_bundle(path)
    subject, notes = read_subject(path)
    return judge_subject(
        subject, str(path), notes, notion=notion, epsilon=epsilon, delta=delta, inputs=inputs, exact=exact
    )


def verify_text(data: bytes, name: str, **options: Any) -> FileVerdict:
    """Return the verdict on a file's bytes that were read elsewhere, such as from standard input."""
    subject, notes = subject_from_text(data, name)
    return judge_subject(subject, name, notes, **options)


def judge_subject(
    subject: Mechanism | Probabilities | PTable,
    name: str,
    notes: tuple[str, ...] = (),
    *,
    notion: str | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    inputs: Space | None = None,
    exact: bool = True,
) -> FileVerdict:
    """Return the verdict on the content of a file, and on the requested claim or the file's own."""
    _refuse_lone_delta(epsilon, delta)
    if notion is None and isinstance(subject, Mechanism):
        notion = subject.certificate.notion
    verdict = judge.verify(subject, notion, inputs=inputs, exact=exact)
    claim = _stated(subject) if epsilon is None else (str(epsilon), "0" if delta is None else str(delta))
    judgement = None
    if claim is not None:
        least, witness = verdict.delta(claim[0]), verdict.delta_witness(claim[0])
        name = f"epsilon = {claim[0]}, delta = {claim[1]}"
        sentence = f"the least delta at this epsilon is {text_up(least)}{f': {witness}' if witness else ''}"
        judgement = ClaimVerdict(name, verdict.holds(*claim), sentence, *claim, least, witness)
    return FileVerdict(
        verdict.notion, verdict.inputs, verdict.exact, verdict.evidence, (*notes, *verdict.notes), verdict.outputs,
        verdict.claim, name, subject, _properties(subject), judgement,
    )  # fmt: skip


def _refuse_lone_delta(epsilon: Number | None, delta: Number | None) -> None:
    if delta is not None and epsilon is None:
        raise InvalidInput(f"{named('delta')} goes with {named('epsilon')}.", "Give both, or neither.")


def _stated(subject: Mechanism | Probabilities | PTable) -> tuple[str, str] | None:
    """Return the subject's claim with a delta, which must be judged because no finite epsilon suffices."""
    if isinstance(subject, PTable):
        return subject.claim
    if isinstance(subject, Mechanism) and subject.certificate.delta:
        return repr(subject.certificate.epsilon), repr(subject.certificate.delta)
    return None


def _properties(subject: object) -> Checks:
    try:
        return check(subject)
    except DiscreetError:
        return Checks()  # an unbounded mechanism, or reports of another kind than truths: no property applies
