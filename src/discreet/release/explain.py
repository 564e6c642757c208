"""Explain the guarantee of a bundle on one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..ledger.ledger import Ledger
from ..plots.counts import label
from ..report import Bullets, Code, Json, Prose, Report, Result, Section, Terms, stamped
from .bundle.introduction import opening_sentences
from .bundle.open import open_bundle
from .bundle.released import Release
from .bundle.report import CHECKED, CHECKING, not_guaranteed
from .plan.report import learning, plan_facts, question_in_words


@dataclass(frozen=True, eq=False)
class BundleGuarantee(Result):
    """The guarantee of a release on one page: :func:`explain_bundle` returns it.

    Attributes
    ----------
    release
        The release.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "visits.csv").write_text("site\\n1\\n2\\n")
    >>> _ = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="row", epsilon=2)
    >>> release = dc.release_counts(
    ...     "SELECT COUNT(*) FROM visits", data=folder / "visits.csv", unit="row", epsilon=1,
    ...     ledger=folder / "visits.ledger", title="Visits",
    ... )
    >>> dc.BundleGuarantee(release).report().title
    'What is guaranteed: Visits'
    """

    release: Release

    @property
    def sentences(self) -> tuple[str, str, str]:
        """What is protected, what all publications paid from the ledger may reveal together, what is not covered."""
        return opening_sentences(self.release)

    def report(self) -> Report:
        """Return the page."""
        release = self.release
        plan = release.plan
        statements = [("data set", plan.dataset), *([("edition", plan.edition)] if plan.edition else [])]
        questions = tuple(question_in_words(plan, table.plan) for table in release.tables)
        errors = tuple(f"{label(table.title)}: {table.error_sentence}" for table in release.tables)
        return Report(
            f"What is guaranteed: {release.title}",
            kind="A guarantee on one page",
            facts=plan_facts(plan),
            sections=(
                Section(parts=(Bullets(self.sentences),)),
                Section(parts=(Terms((*statements, *plan.publication.pairs)),)),
                Section("What is guaranteed", (Bullets(release.guarantee),)),
                *learning(plan),
                Section("What was asked", (Bullets(questions),)),
                Section("How large the noise is", (Bullets(errors),)),
                Section("What is not guaranteed", (Bullets(not_guaranteed(plan)),)),
                Section("How to re-check it", (Code(CHECKING), Prose(CHECKED))),
            ),
        )

    def to_json(self) -> dict[str, Json]:
        """Return the sentences, the cost and the budget as JSON values."""
        release = self.release
        content: dict[str, Json] = {
            "title": release.title,
            "dataset": release.plan.dataset,
            "edition": release.plan.edition,
            "publication": dict(release.plan.publication.to_json()),
            "sentences": list(self.sentences),
            "cost": release.cost.to_json(),
            "budget": None if release.budget is None else release.budget.to_json(),
            "guarantee": list(release.guarantee),
            "not_guaranteed": list(not_guaranteed(release.plan)),
        }
        return stamped("guarantee", 1, content)

    def __str__(self) -> str:
        return self.describe()


def explain_bundle(folder: str | Path, ledger: Ledger | str | Path | None = None) -> BundleGuarantee:
    """Explain the guarantee of a bundle on one page; the bundle is re-checked first.

    Parameters
    ----------
    folder
        The folder that ``release.save`` wrote.
    ledger
        The ledger that paid for it, or its file; with it, the total budget and the counts are checked too.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "visits.csv").write_text("site\\n1\\n2\\n")
    >>> _ = dc.Ledger.create(folder / "visits.ledger", dataset="visits", unit="row", epsilon=2)
    >>> _ = dc.release_counts(
    ...     "SELECT COUNT(*) FROM visits", data=folder / "visits.csv", unit="row", epsilon=1,
    ...     ledger=folder / "visits.ledger", out=folder / "out",
    ... )
    >>> print(dc.explain_bundle(folder / "out").sentences[1])
    All publications paid from this ledger together may reveal at most epsilon 2 about a row; this one uses epsilon 1.
    """
    return BundleGuarantee(open_bundle(folder, ledger))
