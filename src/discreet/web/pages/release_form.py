"""The form of a release, read as a question and the fields of a request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData

from ...engines.base import ROW
from ...errors import InvalidInput
from ...questions.expressions import name_text
from ..frame.fields import whole_number

#: Way to declare the groups of a column -> field of a request.
REQUEST_FIELDS = {"values": "domain", "bands": "bands", "discover": "discover"}

#: Way to declare the groups of a column -> title.
WAY_TITLES = {"values": "values", "bands": "bands", "discover": "found in the data"}

#: The way that uses the groups of the dataset's declaration; a request omits them.
AS_DECLARED = "declared"

#: Field of the form and of a request -> default, which a request omits.
DEFAULTS = {
    "epsilon": "", "error": "", "delta": "0", "mechanism": "geometric", "counts": "", "max_groups": "", "level": "0.95",
    "edition": "", "totals": "", "one_row_each": "", "relation": "add-remove",
}  # fmt: skip

#: Way to declare the groups of a column -> advice if they are missing.
_EXAMPLES = {
    "values": "Type its public values, such as 1..6 or good,poor; a * is for all others.",
    "bands": "Type the edges, such as 18,30,45,65, or month:2024-01..2024-12.",
}

#: The fields that are whole numbers.
INTEGER_FIELDS = ("error", "max_groups")

#: Pattern of a folder's name.
FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}")


@dataclass(frozen=True)
class ReleaseForm:
    """A form that was filled in.

    Attributes
    ----------
    data, table, unit
        The data, the table and the privacy unit, which is empty if a dataset declares it.
    by
        The columns to group by, in order, each with the way its groups are declared and the text that declares them.
    where
        A condition in SQL; empty for all rows.
    options
        All other fields as text, by their names in a request.
    ledger, folder
        The ledger that pays, and the name of the bundle.
    unit_word
        The word of the form for one unit.
    """

    data: str
    table: str
    unit: str
    by: tuple[tuple[str, str, str], ...]
    where: str
    options: tuple[tuple[str, str], ...]
    ledger: str
    folder: str
    unit_word: str = "person"

    @staticmethod
    def read(form: FormData) -> ReleaseForm:
        """Read the form as a browser sends it."""

        def text(name: str, usual: str = "") -> str:
            value = form.get(name, usual)
            return value.strip()[:20_000] if isinstance(value, str) else usual

        columns = [column for column in form.getlist("by") if isinstance(column, str)]
        by = tuple((column, text(f"how:{column}", "values"), text(f"values:{column}")) for column in columns)
        options = tuple((name, text(name, usual)) for name, usual in DEFAULTS.items())
        return ReleaseForm(
            text("data"), text("table"), text("unit"), by, text("where"), options, text("ledger"), text("folder"),
            text("unit_word", "person"),
        )  # fmt: skip

    @property
    def sql(self) -> str:
        """The question."""
        columns = [name_text(column) for column, _, _ in self.by]
        where = f" WHERE {self.where}" if self.where else ""
        group_by = f" GROUP BY {', '.join(columns)}" if columns else ""
        return f"SELECT {', '.join([*columns, 'COUNT(*)'])} FROM {name_text(self.table)}{where}{group_by}"

    def fields(self, unit: str) -> dict[str, Any]:
        """Return the fields of the request that differ from their defaults, without the unit."""
        request: dict[str, Any] = {}
        for column, way, text in self.by:
            if way == AS_DECLARED:
                continue
            if way not in REQUEST_FIELDS:
                raise InvalidInput.must_be("domain", "values, or one of the other ways", way)
            if way == "discover":
                request.setdefault("discover", []).append(column)
                continue
            if not text:
                raise InvalidInput(
                    f"declare the groups of {column!r}.", _EXAMPLES[way],
                    argument=REQUEST_FIELDS[way],
                )  # fmt: skip
            if text.startswith("@"):
                raise InvalidInput("a file is chosen with the button next to the field.", argument=REQUEST_FIELDS[way])
            quoted_name = column if re.fullmatch(r"\w+", column) else '"' + column.replace('"', '""') + '"'
            request.setdefault(REQUEST_FIELDS[way], []).append(f"{quoted_name}={text}")
        for name, value in self.options:
            if value and value != DEFAULTS[name] and not (name == "max_groups" and unit == ROW):
                request[name] = whole_number(name, value) if name in INTEGER_FIELDS else value
        if "one_row_each" in request:
            request["one_row_each"] = True
        return request
