"""The form of a release: what was filled in, as a question and the fields of a request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData

from ...engines.base import ROW
from ...errors import InvalidInput
from ...questions.expressions import name_text

#: How the groups of a column are given -> the field of a request that says so.
DECLARED = {"values": "domain", "bands": "bands", "discover": "discover"}

#: How they are given, in words.
WAYS = {"values": "values", "bands": "bands", "discover": "found in the data"}

#: The groups of a column are those that the data set declares: a request says nothing of them.
AS_DECLARED = "declared"

#: Fields of the form that are those of a request, with the values that go without saying.
PLAIN = {
    "epsilon": "", "error": "", "delta": "0", "mechanism": "geometric", "counts": "", "max_groups": "", "level": "0.95",
    "edition": "", "totals": "", "one_row_each": "", "relation": "add-remove",
}  # fmt: skip

#: What to type where groups are to be declared.
_EXAMPLES = {
    "values": "Type its public values, such as 1..6 or good,poor; a * is for all others.",
    "bands": "Type the edges, such as 18,30,45,65, or month:2024-01..2024-12.",
}

#: Of these, those that are whole numbers.
WHOLE = ("error", "max_groups")

#: A name for a folder.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}")


@dataclass(frozen=True)
class ReleaseForm:
    """What was filled in.

    Attributes
    ----------
    data, table, unit
        Which data, and whose; the unit is empty where the data set says it.
    by
        The columns to group by, in order, each with how its groups are declared and the text that declares them.
    where
        A condition in SQL; empty for all rows.
    plain
        All other fields as text, by their names in a request.
    ledger, folder
        What pays, and the name of the bundle.
    unit_word
        What the form calls one unit.
    """

    data: str
    table: str
    unit: str
    by: tuple[tuple[str, str, str], ...]
    where: str
    plain: tuple[tuple[str, str], ...]
    ledger: str
    folder: str
    unit_word: str = "person"

    @staticmethod
    def read(form: FormData) -> ReleaseForm:
        """The form as a browser sends it."""

        def text(name: str, usual: str = "") -> str:
            given = form.get(name, usual)
            return given.strip()[:20_000] if isinstance(given, str) else usual

        columns = [one for one in form.getlist("by") if isinstance(one, str)]
        by = tuple((one, text(f"how:{one}", "values"), text(f"values:{one}")) for one in columns)
        plain = tuple((name, text(name, usual)) for name, usual in PLAIN.items())
        return ReleaseForm(
            text("data"), text("table"), text("unit"), by, text("where"), plain, text("ledger"), text("folder"),
            text("unit_word", "person"),
        )  # fmt: skip

    @property
    def sql(self) -> str:
        """The question."""
        columns = [name_text(column) for column, _, _ in self.by]
        where = f" WHERE {self.where}" if self.where else ""
        grouped = f" GROUP BY {', '.join(columns)}" if columns else ""
        return f"SELECT {', '.join([*columns, 'COUNT(*)'])} FROM {name_text(self.table)}{where}{grouped}"

    def fields(self, unit: str) -> dict[str, Any]:
        """Return the fields of the request beside the unit, but for those that go without saying."""
        given: dict[str, Any] = {}
        for column, way, written in self.by:
            if way == AS_DECLARED:
                continue
            if way not in DECLARED:
                raise InvalidInput.must_be("domain", "values, or one of the other ways", way)
            if way == "discover":
                given.setdefault("discover", []).append(column)
                continue
            if not written:
                raise InvalidInput(
                    f"declare the groups of {column!r}.", _EXAMPLES[way],
                    argument=DECLARED[way],
                )  # fmt: skip
            if written.startswith("@"):
                raise InvalidInput("a file is chosen with the button beside the field.", argument=DECLARED[way])
            quoted = column if re.fullmatch(r"\w+", column) else '"' + column.replace('"', '""') + '"'
            given.setdefault(DECLARED[way], []).append(f"{quoted}={written}")
        for name, value in self.plain:
            if value and value != PLAIN[name] and not (name == "max_groups" and unit == ROW):
                given[name] = _whole(name, value) if name in WHOLE else value
        if "one_row_each" in given:
            given["one_row_each"] = True
        return given


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise InvalidInput.must_be(name, "a whole number", text)
    return int(text)
