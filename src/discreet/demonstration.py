"""``discreet demo``: the main job on real data, from the question to a published page, in half a minute of reading."""

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

#: More than this would print true counts in all but name.
LARGEST_EPSILON = 5

QUESTION = "SELECT site, health, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY site, health"
SECOND = "SELECT sex, COUNT(*) FROM doctor_visits WHERE year = 1 GROUP BY sex"

#: Public facts: the experiment had six sites, and the questionnaire four answers.
DOMAIN = {"site": range(1, 7), "health": ["excellent", "good", "fair", "poor"]}


def show(data: Path, epsilon: str, folder: Path | None = None) -> None:
    """Print the whole path: question, plan, noisy counts, guarantee, proof, budget, a refusal, the page."""
    asked = as_fraction(epsilon, "epsilon")
    if asked > LARGEST_EPSILON:
        raise InvalidInput.must_be(
            "epsilon", f"at most {LARGEST_EPSILON} in the demo", epsilon, "Beyond it hardly any noise is left."
        )
    if not data.is_file():
        raise UnreadableFile(
            f"there is no file {data}.", "Run the demo from the project's folder, or give --data PATH."
        )
    plan = plan_release(QUESTION, data=data, unit="person", max_groups=1, domain=DOMAIN, epsilon=asked)
    home = _new_folder(folder)
    console = Console(highlight=False, soft_wrap=True)
    say, rule = console.print, console.rule
    ask: dict[str, Any] = {"data": data, "unit": "person", "max_groups": 1, "epsilon": asked}

    rule("[bold]The question")
    say("RAND Health Insurance Experiment, real people: how healthy did they feel at each of the six sites, in year 1?")
    say(QUESTION, markup=False)

    rule("[bold]The plan, before any row is read")
    say(plan.describe(guarantee=False), markup=False)

    rule("[bold]The ledger")
    book = Ledger.create(home / "study.ledger", dataset=plan.dataset, unit="person", epsilon=asked * 3 / 2)
    say(f"{book.name} allows epsilon {float(asked * 3 / 2):g} in all, and cannot be overspent", markup=False)

    rule("[bold]The noisy counts")
    released = release_counts(QUESTION, domain=DOMAIN, ledger=book, out=home / "health_by_site", **ask)
    say(released.describe(), markup=False)
    poor = released.total({"health": "poor"})
    share = released.percentage({"health": "poor"})
    say(f"in poor health at all sites: {poor}", markup=False)
    say(f"as a percentage: {share}", markup=False)

    rule("[bold]The proof")
    certificate = released.tables[0].plan.noise.mechanisms[0].certificate
    say(f"the largest ratio of two probabilities is exactly {certificate.ratio}")
    say(f"epsilon = log of that = {certificate.epsilon:.12f}, decided in integers, on the numbers that are sampled")

    rule("[bold]The budget")
    say(f"spent {float(book.spent().epsilon):g}, left {float(book.left().epsilon):g}. The same question again is free:")
    again = release_counts(QUESTION, domain=DOMAIN, ledger=book, **ask)
    same = "the same numbers" if again.rows() == released.rows() else "OTHER NUMBERS"
    say(f"  the recorded answer, {same}; left {float(book.left().epsilon):g}")
    say("Another one is not:")
    say(f"  {SECOND}", markup=False)
    try:
        release_counts(SECOND, domain={"sex": ["female", "male"]}, ledger=book, **ask)
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
