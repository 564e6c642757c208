"""Verbs of the ledger: init, show, release, verify."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import Json, decide, print_json, print_table, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..ledger.budget import Cost, Terms
    from ..ledger.ledger import Entry, Event, Ledger, LedgerReport

app = typer.Typer(
    no_args_is_help=True, help="The budget of a data set: make it, look at it, check it.", rich_markup_mode="markdown"
)

File = Annotated[Path, typer.Argument(help="The ledger's file.")]

_BAR = 40


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="The file to make; one that exists is refused.")],
    data: Annotated[str, typer.Option(help="The data set: its file, or its name.")],
    unit: Annotated[str, typer.Option(help="What is protected: row, or the column that names a person.")],
    epsilon: Annotated[str, typer.Option(help="The budget for everything that will ever be released from the data.")],
    delta: Annotated[str, typer.Option(help="The delta of the budget.")] = "0",
    relation: Annotated[
        str, typer.Option(help="add-remove, or substitution when the sizes of groups are public.")
    ] = "add-remove",
    filter: Annotated[
        str, typer.Option(help="How costs add up: sum (epsilon and delta) or zcdp (rho; needs a delta).")
    ] = "sum",
    dataset: Annotated[
        str | None,
        typer.Option(help="The name of the data set, where several files are about the same people; else the file's."),
    ] = None,
    json: Json = False,
) -> None:
    """Make the ledger of a data set, with a budget that cannot be changed.

    Example: `discreet ledger init study.ledger --data visits.csv --unit person --epsilon 3`
    """
    from ..ledger.ledger import Ledger

    unit = _spelled(data, unit)
    name = _dataset(data) if dataset is None else dataset
    ledger = Ledger.create(
        path, dataset=name, unit=unit, relation=relation, epsilon=epsilon, delta=delta, filter=filter
    )
    if json:
        print_json({"file": str(path), **ledger.terms.describe()})
        return
    say(f"made      {path}")
    _tell_terms(ledger.terms)
    say("keep      one ledger for one data set, in a safe place: a lost ledger is a lost account of what was spent")


def _spelled(data: str, unit: str) -> str:
    """A ledger is for good: if the data is there, the unit must be a column of it, and is spelled as there."""
    from ..addresses import read_address
    from ..engines.sources import columns_of
    from ..errors import InvalidInput

    columns = columns_of(data)
    if columns is None or unit == "row" or unit in columns:
        return unit
    alike = [name for name in sorted(columns) if name.casefold() == unit.casefold()]
    if len(alike) != 1:
        shown = ", ".join(sorted(columns)[:20])
        raise InvalidInput(
            f"{read_address(data)} has no column {unit!r}; a unit is row, or one of its columns: {shown}."
        )
    return alike[0]


@app.command()
def show(path: File, json: Json = False) -> None:
    """Show the budget, what was spent on what, and what to do about reservations without an answer.

    Example: `discreet ledger show study.ledger`
    """
    from ..ledger.ledger import Ledger

    ledger = Ledger.open(path)
    if json:
        print_json(_as_json(path, ledger))
        return
    say(f"ledger    {path}")
    _tell_terms(ledger.terms)
    _tell_budget(ledger.terms, ledger.spent(), ledger.left())
    entries = ledger.entries()
    if not entries:
        say("entries   none yet")
        return
    say()
    editions = any(map(_edition, entries))
    print_table(
        ["no.", "time (UTC)", *_currencies(ledger.terms), "state", *["edition"] * editions, "question"],
        [_line(ledger.terms, entry, editions) for entry in entries],
        numbers=[0, *range(2, 2 + len(_currencies(ledger.terms)))],
    )
    _tell_unanswered(path, entries)


def _tell_unanswered(path: Path, entries: Sequence[Entry]) -> None:
    """What the states of reservations without an answer mean, and what to type."""
    from ..ledger.ledger import release_line

    found: dict[str, list[int]] = {}
    for entry in entries:
        found.setdefault(entry.state, []).append(entry.reservation.number)
    for state, sentence in _UNANSWERED.items():
        if state in found:
            say()
            say(f"{state}: {', '.join(map(str, found[state]))}. {sentence}")
    for number in found.get("reserved", []):
        say(f"  {release_line(path, number)}")


_UNANSWERED = {
    "opened": "Rows may have been read, so this stays spent: the release is under way now, or its program was stopped.",
    "not answered": "This ledger is of version 1 and does not record whether rows were read, so this stays spent.",
    "reserved": "No row was read: the release begins just now, or its program was stopped. Then give it back with:",
}


@app.command("release")
def give_back(
    path: File,
    number: Annotated[int, typer.Argument(help="The number of the reservation, as ledger show has it.")],
    because: Annotated[str, typer.Option(help="Why; the ledger keeps it.")],
    json: Json = False,
) -> None:
    """Give back a reservation for which no row was read, because its program was stopped.

    It can never be used afterwards, not even by a program that was only paused. One whose rows may have been read
    (state opened) stays spent.

    Example: `discreet ledger release study.ledger 4 --because "power cut before the table was opened"`
    """
    from ..ledger.budget import short
    from ..ledger.ledger import Ledger

    ledger = Ledger.open(path)
    cost = ledger.release(number, because=because)
    left = ledger.left()
    if json:
        print_json({"file": str(path), "number": number, "given_back": cost.describe(), "left": left.describe()})
        return
    say(f"given back  reservation {number}, epsilon = {short(cost.epsilon, up=False)}; it can never be used now")
    say(f"left        epsilon = {short(left.epsilon, up=False)}")


@app.command()
def verify(
    path: File,
    bundle: Annotated[
        list[Path] | None, typer.Option(help="A published bundle whose entry must be in the ledger; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Check the chain of events, the sums, and that published bundles are known.

    This reads every event; a release reads only those since the last checkpoint.

    An old copy that was put back is intact, and it lacks the later releases: only their bundles show it.

    Example: `discreet ledger verify study.ledger --bundle health_by_site`
    """
    from ..errors import UnreadableFile
    from ..ledger.ledger import verify_store
    from ..ledger.stores.opening import open_store

    store = open_store(path)
    if not store.exists():
        raise UnreadableFile(f"there is no ledger {path}.")
    heads = {folder: _head(folder) for folder in bundle or []}
    report = verify_store(store, list(heads.values()))
    if json:
        print_json(_report_as_json(path, report, heads))
    else:
        _tell_report(path, report, heads)
    decide(report.holds)


# ------------------------------------------------------------------------------------------------ reading


def _dataset(data: str) -> str:
    """The name of a data set: that of its file, without folder and endings."""
    from ..addresses import read_address

    return read_address(data).dataset


def _head(folder: Path) -> str:
    """The place in the chain that a bundle states."""
    import json
    import re

    from ..errors import UnreadableFile

    file = folder / "release.json"
    try:
        head = json.loads(file.read_text(encoding="utf-8"))["ledger"]["head"]
    except OSError as problem:
        raise UnreadableFile(f"cannot read {file}: {problem.strerror or problem}.") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        head = None
    if not isinstance(head, str) or not re.fullmatch(r"[0-9a-f]{64}", head):
        raise UnreadableFile(f"{file} does not state its place in a ledger (ledger.head): is {folder} a bundle?")
    return head


# ------------------------------------------------------------------------------------------------ for people


def _tell_terms(terms: Terms) -> None:
    from ..ledger.budget import short

    budget = f"epsilon = {short(terms.epsilon, up=False)}"
    if terms.delta:
        budget += f", delta = {short(terms.delta, up=False)}"
    if terms.rho is not None:
        budget += f", added up as rho = {short(terms.rho, up=False)} (filter zcdp)"
    who = "one row" if terms.unit == "row" else f"one person (column {terms.unit})"
    how = {"add-remove": "added or removed", "substitution": "replaced by another"}[terms.relation]
    say(f"data      {terms.dataset}")
    say(f"protects  {who}, {how}")
    say(f"budget    {budget}")


def _tell_budget(terms: Terms, spent: Cost, left: Cost) -> None:
    from ..ledger.budget import short

    for what in _currencies(terms):
        total, used, rest = (_amount(cost, what) for cost in (terms, spent, left))
        full = min(_BAR, -int(-(used * _BAR) // total))
        bar = "█" * full + "░" * (_BAR - full)
        say(f"{what:<9} {bar} {short(used, up=True)} spent, {short(rest, up=False)} left")
    if terms.filter == "zcdp":
        say(
            f"          so far epsilon = {short(spent.epsilon, up=True)} at delta = {short(terms.delta, up=True)}; "
            f"what is left pays for one release with a pure epsilon of {short(left.epsilon, up=False)}"
        )


def _currencies(terms: Terms) -> list[str]:
    """What adds up under the terms."""
    if terms.filter == "zcdp":
        return ["rho"]
    return ["epsilon", "delta"] if terms.delta else ["epsilon"]


def _amount(of: Cost | Terms, what: str) -> Fraction:
    value = getattr(of, what)
    assert isinstance(value, Fraction)
    return value


def _line(terms: Terms, entry: Entry, editions: bool) -> list[str]:
    from ..ledger.budget import short

    reserved = entry.reservation
    cost = terms.add(_nothing(), reserved.cost)
    return [
        str(reserved.number),
        reserved.time.replace("T", " ").removesuffix("Z"),
        *(short(_amount(cost, what), up=True) for what in _currencies(terms)),
        entry.state,
        *[_edition(entry)] * editions,
        _question(entry),
    ]


def _nothing() -> Cost:
    from ..ledger.budget import NOTHING

    return NOTHING


def _edition(entry: Entry) -> str:
    """The edition that was asked about, in printable characters; empty if none was named."""
    text = entry.request.get("edition")
    return "".join(c if c.isprintable() else " " for c in text)[:60] if isinstance(text, str) else ""


def _question(entry: Entry, length: int = 70) -> str:
    """What was asked, on one line of printable characters; the key of the question if the request has no text."""
    text = " · ".join(_texts(entry.request)) or entry.reservation.key
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= length else text[: length - 1] + "…"


def _texts(request: Mapping[str, Any]) -> Iterator[str]:
    tables = request.get("tables")
    for part in [request, *(tables if isinstance(tables, list) else [])]:
        if isinstance(part, dict) and isinstance(part.get("question"), str):
            yield part["question"]


def _tell_report(path: Path, report: LedgerReport, heads: Mapping[Path, str]) -> None:
    from ..ledger.budget import short

    say(f"{path}: {'holds' if report.holds else 'DOES NOT HOLD'}")
    for problem in report.problems:
        say(f"problem   {problem}")
    if report.events:
        say(f"chain     {report.events} events{'' if report.holds else ' could be read'}, head {report.head[:16]}")
    if report.spent is not None and report.left is not None:
        say(f"spent     epsilon = {short(report.spent.epsilon, up=True)}, left {short(report.left.epsilon, up=False)}")
    if report.orphans:
        numbers = ", ".join(str(orphan.number) for orphan in report.orphans)
        say(f"orphans   spent and not answered: {numbers}; see: discreet ledger show")
    if heads and report.holds:
        say(f"bundles   {len(heads)} known to the ledger")
    if not heads:
        say("note      an old copy that was put back is intact too: compare with a bundle by --bundle FOLDER")


# ------------------------------------------------------------------------------------------------ for programs


def _as_json(path: Path, ledger: Ledger) -> dict[str, Any]:
    return {
        "file": str(path),
        **ledger.terms.describe(),
        "spent": ledger.spent().describe(),
        "left": ledger.left().describe(),
        "entries": [
            {
                "number": entry.reservation.number,
                "time": entry.reservation.time,
                "key": entry.reservation.key,
                "cost": entry.reservation.cost.describe(),
                "question": list(_texts(entry.request)),
                "edition": _edition(entry),
                "state": entry.state,
                "opened": None if entry.opened is None else _as_place(entry.opened),
                "given_back": None
                if entry.given_back is None
                else {**_as_place(entry.given_back), "because": entry.given_back.content["because"]},
                "committed": None if entry.committed is None else _as_place(entry.committed),
            }
            for entry in ledger.entries()
        ],
        "orphans": [orphan.number for orphan in ledger.orphans()],
    }


def _as_place(event: Event) -> dict[str, Any]:
    return {"number": event.number, "time": event.time, "head": event.hash}


def _report_as_json(path: Path, report: LedgerReport, heads: Mapping[Path, str]) -> dict[str, Any]:
    return {
        "file": str(path),
        "holds": report.holds,
        "problems": list(report.problems),
        "events": report.events,
        "head": report.head or None,
        "spent": None if report.spent is None else report.spent.describe(),
        "left": None if report.left is None else report.left.describe(),
        "orphans": [orphan.number for orphan in report.orphans],
        "bundles": {str(folder): head for folder, head in heads.items()},
    }
