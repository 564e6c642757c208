"""``discreet demo``: a release from real data, from the question to the published page."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from .errors import BudgetExceeded, InvalidInput, UnreadableFile
from .exact.rationals import as_fraction
from .ledger.ledger import Ledger
from .release.counts import release_counts
from .release.plan.planning import plan_release

#: Largest epsilon of the demo; with a larger one hardly any noise is left.
MAX_EPSILON = 5

QUESTION = "SELECT site, health, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY site, health"
SECOND_QUESTION = "SELECT sex, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY sex"

#: Public values: the experiment had six sites, and the questionnaire four answers.
DOMAIN = {"site": range(1, 7), "health": ["excellent", "good", "fair", "poor"]}


def show(data: Path, epsilon: str, folder: Path | None = None) -> None:
    """Print all steps: question, plan, noisy counts, guarantee, proof, budget, a refusal, the page."""
    amount = as_fraction(epsilon, "epsilon")
    if amount > MAX_EPSILON:
        raise InvalidInput.must_be(
            "epsilon", f"at most {MAX_EPSILON} in the demo", epsilon, "Beyond it hardly any noise is left."
        )
    if not data.is_file():
        raise UnreadableFile(
            f"there is no file {data}.", "Run the demo from the project's folder, or give --data PATH."
        )
    plan = plan_release(QUESTION, data=data, unit="person", max_groups=1, domain=DOMAIN, epsilon=amount)
    home = _new_folder(folder)
    console = Console(highlight=False, soft_wrap=True)
    say, rule = console.print, console.rule
    ask: dict[str, Any] = {"data": data, "unit": "person", "max_groups": 1, "epsilon": amount}

    rule("[bold]The question")
    say("RAND Health Insurance Experiment, real people: how healthy did they feel at each of the six sites, in year 1?")
    say(QUESTION, markup=False)

    rule("[bold]The plan, before any row is read")
    say(plan.describe(guarantee=False), markup=False)

    rule("[bold]The ledger")
    ledger = Ledger.create(home / "study.ledger", dataset=plan.dataset, unit="person", epsilon=amount * 3 / 2)
    say(f"{ledger.name} allows epsilon {float(amount * 3 / 2):g} in all, and refuses what is more", markup=False)

    rule("[bold]The noisy counts")
    release = release_counts(QUESTION, domain=DOMAIN, ledger=ledger, out=home / "health_by_site", **ask)
    say(release.describe(), markup=False)
    total = release.total({"health": "poor"})
    share = release.percentage({"health": "poor"})
    say(f"in poor health at all sites: {total}", markup=False)
    say(f"as a percentage: {share}", markup=False)

    rule("[bold]The proof")
    certificate = release.tables[0].plan.noise.mechanisms[0].certificate
    say(f"the largest ratio of two probabilities is exactly {certificate.ratio}")
    say(f"epsilon = log of that = {certificate.epsilon:.12f}, decided in integers, on the numbers that are sampled")

    rule("[bold]The budget")
    spent, left = float(ledger.spent().epsilon), float(ledger.left().epsilon)
    say(f"spent {spent:g}, left {left:g}. The same question again is free:")
    repeated = release_counts(QUESTION, domain=DOMAIN, ledger=ledger, **ask)
    same = "the same numbers" if repeated.rows() == release.rows() else "OTHER NUMBERS"
    say(f"  the recorded answer, {same}; left {float(ledger.left().epsilon):g}")
    say("Another one is not:")
    say(f"  {SECOND_QUESTION}", markup=False)
    try:
        release_counts(SECOND_QUESTION, domain={"sex": ["female", "male"]}, ledger=ledger, **ask)
    except BudgetExceeded as refusal:
        say(f"  refused: {refusal}", markup=False)

    rule("[bold]The bundle")
    say(f"{home / 'health_by_site' / 'index.html'} is the page to look at", markup=False)
    say(f"discreet verify {home / 'health_by_site'} --ledger {home / 'study.ledger'} re-checks it all", markup=False)


def _new_folder(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="discreet-demo-"))
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InvalidInput(f"{folder} exists already.", "Name a new folder for the demo.") from None
    return folder
