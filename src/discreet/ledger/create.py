"""Make the ledger of some data, after checking that its file and the column of its unit exist."""

from __future__ import annotations

from pathlib import Path

from ..addresses import Address, read_address
from ..engines.sources import columns_of
from ..errors import DiscreetError, InvalidInput, arg
from ..wording import spelled_alike
from .ledger import Ledger


def create_ledger(
    path: str | Path,
    data: str | Path,
    unit: str,
    *,
    dataset: str | None = None,
    relation: str = "add-remove",
    epsilon: object,
    delta: object = 0,
    filter: str = "sum",
    per: str | None = None,
    own_delta: object = 0,
) -> Ledger:
    """Make the ledger of some data.

    Parameters
    ----------
    path
        The file to make, or an address; an existing one is refused.
    data
        The data: its file or address, or its name alone if it does not exist yet.
    unit
        "row", or the column that identifies a person.
    dataset
        The name of the data set, if several files share its people; by default the data's.
    relation, epsilon, delta, filter, per, own_delta
        As for ``Ledger.create``.
    """
    address = read_address(data)
    _refuse_missing(address)
    return Ledger.create(
        path,
        dataset=address.dataset if dataset is None else dataset,
        unit=_as_spelled(address, unit),
        relation=relation,
        epsilon=epsilon,
        delta=delta,
        filter=filter,
        per=per,
        own_delta=own_delta,
    )


def other_ledgers(ledger: Ledger) -> list[str]:
    """Return the files of other ledgers of the same data set in the folder of a new one: each is a further budget."""
    place = Path(ledger.name)
    if ledger.folder is None or not place.exists():
        return []
    names = []
    for file in sorted(place.parent.glob("*.ledger")):
        try:
            if not file.samefile(place) and Ledger.open(file).terms.dataset == ledger.terms.dataset:
                names.append(str(file))
        except (DiscreetError, OSError):
            continue  # a file that is no ledger
    return names


def _refuse_missing(address: Address) -> None:
    """Refuse a missing file: a ledger is permanent, and so is a mistyped name."""
    if not address.may_be_opened and (address.path.suffix or len(address.path.parts) > 1):
        raise InvalidInput(
            f"there is no file {address}.",
            f"Name the data's file, or the data set alone: {arg('data', address.dataset)}.",
            argument="data",
        )


def _as_spelled(address: Address, unit: str) -> str:
    """Return the unit as the data spells it; if the data exists, the unit must be one of its columns."""
    columns = columns_of(address)
    if columns is None or unit == "row":
        return unit
    alike = spelled_alike(unit, sorted(columns))
    if len(alike) != 1:
        shown = ", ".join(sorted(columns)[:20])
        raise InvalidInput(
            f"{address} has no column {unit!r}; a unit is row, or one of its columns: {shown}.", argument="unit"
        )
    return alike[0]
