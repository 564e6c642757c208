"""The form of a release: what was filled in, as a request, as SQL, as a command line and as Python."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData

from ...engines.base import ROW
from ...errors import InvalidInput
from ...questions.expressions import name_text
from ...release.plan.toml_text import toml_text

#: How the groups of a column are declared -> the field of a request that says so.
DECLARED = {"values": "domain", "bands": "bands", "discover": "discover"}

#: How they are declared, in words.
WAYS = {"values": "values", "bands": "bands", "discover": "found in the data"}

#: Fields of the form that are those of a request, with the values that go without saying.
PLAIN = {
    "epsilon": "", "error": "", "delta": "0", "mechanism": "geometric", "counts": "", "max_groups": "", "level": "0.95",
    "edition": "", "totals": "", "one_row_each": "",
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
        Which data, and whose.
    by
        The columns to group by, in order, each with how its groups are declared and the text that declares them.
    where
        A condition in SQL; empty for all rows.
    plain
        All other fields as text, by their names in a request.
    ledger, folder
        What pays, and the name of the bundle.
    """

    data: str
    table: str
    unit: str
    by: tuple[tuple[str, str, str], ...]
    where: str
    plain: tuple[tuple[str, str], ...]
    ledger: str
    folder: str

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
            text("data"), text("table"), text("unit"), by, text("where"), plain, text("ledger"), text("folder")
        )

    @property
    def sql(self) -> str:
        """The question."""
        columns = [name_text(column) for column, _, _ in self.by]
        where = f" WHERE {self.where}" if self.where else ""
        grouped = f" GROUP BY {', '.join(columns)}" if columns else ""
        return f"SELECT {', '.join([*columns, 'COUNT(*)'])} FROM {name_text(self.table)}{where}{grouped}"

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the request but for those that go without saying."""
        if not self.unit:
            raise InvalidInput(
                "say who is protected.", "Choose the column that names the person, or each row.", argument="unit"
            )
        found: dict[str, Any] = {"unit": self.unit}
        for column, how, written in self.by:
            if how not in DECLARED:
                raise InvalidInput.must_be("domain", "values, or one of the other ways", how)
            if how == "discover":
                found.setdefault("discover", []).append(column)
                continue
            if not written:
                raise InvalidInput(
                    f"declare the groups of {column!r}.", _EXAMPLES[how],
                    argument=DECLARED[how],
                )  # fmt: skip
            if written.startswith("@"):
                raise InvalidInput("a file is chosen with the button beside the field.", argument=DECLARED[how])
            quoted = column if re.fullmatch(r"\w+", column) else '"' + column.replace('"', '""') + '"'
            found.setdefault(DECLARED[how], []).append(f"{quoted}={written}")
        for name, value in self.plain:
            if value and value != PLAIN[name] and not (name == "max_groups" and self.unit == ROW):
                found[name] = _whole(name, value) if name in WHOLE else value
        if "one_row_each" in found:
            found["one_row_each"] = True
        return found

    def places(self, data: str, ledger: str) -> dict[str, str]:
        """Where the data is, what pays, and the folder of the bundle."""
        return {"data": data, "ledger": ledger or "study.ledger", "out": self.folder or "bundle"}

    def request_file(self, data: str, ledger: str) -> str:
        """The same as a request file, for ``discreet release request.toml``."""
        heading = ("Release with: discreet release request.toml (first with --plan).",)
        return toml_text({"questions": self.sql, **self.places(data, ledger), **self.fields}, heading)

    def command(self, data: str, ledger: str) -> str:
        """The same on the command line."""
        words = ["discreet", "release", self.sql, "--data", data]
        for name, value in self.fields.items():
            for one in value if isinstance(value, list) else [value]:
                words += [f"--{name.replace('_', '-')}", *([] if one is True else [str(one)])]
        places = self.places(data, ledger)
        return shlex.join([*words, "--ledger", places["ledger"], "-o", places["out"]])

    def python(self, data: str, ledger: str) -> str:
        """The same in Python."""
        given = self.fields | self.places(data, ledger)
        lines = [f"    {name}={value!r}," for name, value in given.items()]
        return "\n".join(
            ["import discreet as dc", "", "released = dc.release_counts(", f"    {self.sql!r},", *lines, ")", ""]
        )


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise InvalidInput.must_be(name, "a whole number", text)
    return int(text)
