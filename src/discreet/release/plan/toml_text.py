"""A request as TOML: one field a line, a comment over each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...datasets.toml_values import toml_key, toml_value
from ...report import Json

#: Fields in the order in which people read them, and what is said of each. Others follow, without a comment.
COMMENTS: dict[str, str] = {
    "questions": "What is asked.",
    "data": "The table, relative to this file, or the address of a database. A password never stands here.",
    "ledger": "The budget that pays, and the folder that the bundle is written to.",
    "out": "",
    "dataset": "Whose people these are, and the state of their data.",
    "edition": "",
    "unit": "Whose data is protected: a column that tells them apart, or row.",
    "unit_name": "What texts call it; of a row: every row is a different one.",
    "max_groups": "In how many groups one of them is counted at most.",
    "relation": "",
    "epsilon": "The privacy of the whole release, per unit; or the error that is allowed.",
    "delta": "",
    "error": "",
    "mechanism": "The noise, and the form of the counts.",
    "properties": "",
    "loss": "",
    "counts": "",
    "bound": "Public facts about the counts.",
    "sizes": "",
    "split": "The parts of epsilon of the questions.",
    "suppress_below": "What is withheld, by the noisy count alone.",
    "level": "How often intervals cover.",
    "groups": "The public groups, one row each; never taken from the data.",
    "zeros": "Groups that cannot exist.",
    "totals": "Columns to publish totals over as well.",
    "bands": "Edges of the columns that are counted in bands.",
    "discover": "Columns whose values are found in the data, where enough people have them.",
    "one_row_each": "",
    "domain": "The public values of each group column; never taken from the data.",
}


def toml_text(content: Mapping[str, Json], heading: Sequence[str]) -> str:
    """The content of a request file, under comments that say what it is."""
    names = [*(name for name in COMMENTS if name in content), *(name for name in content if name not in COMMENTS)]
    stamps = [name for name in ("format", "version") if name in names]
    tables = [name for name in names if isinstance(content[name], Mapping)]
    lines = [f"# {line}" for line in heading]
    lines += [f"{name} = {toml_value(content[name])}" for name in stamps]
    for name in names:
        if name in stamps or name in tables:
            continue
        lines += _comment(name)
        lines.append(f"{toml_key(name)} = {toml_value(content[name])}")
    for name in tables:
        table = content[name]
        assert isinstance(table, Mapping)
        lines += [*_comment(name), f"[{toml_key(name)}]"]
        lines += [f"{toml_key(one)} = {toml_value(value)}" for one, value in table.items()]
    return "\n".join(lines) + "\n"


def _comment(name: str) -> Iterator[str]:
    if COMMENTS.get(name):
        yield ""
        yield f"# {COMMENTS[name]}"
