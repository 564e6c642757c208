"""The contents of the files of a bundle.

========================  =====================================================================================
counts.csv                the noisy counts with the error of each (``counts_1.csv``, ... when there are several tables)
counts_rounded.csv        for a table with totals: whole counts that are not negative and add up; they are biased
lookup_1.csv, ...         the public look-ups of the questions, byte for byte as they were used
quantiles.csv             the medians and other quantiles that were asked for, found in the noisy counts
request.json              the public request, enough to rebuild the plan
release.json              cost, sensitivity, relation, noise, the ledger's receipt, the meaning of flags and columns
mechanism.json            the mechanism, for ``dc.load`` (``mechanism_1.json``, ... when there are several)
GUARANTEE.md, index.html  for people
SHA256SUMS                for ``sha256sum -c``
========================  =====================================================================================

Labels in a CSV file that a spreadsheet could take for a formula get a leading apostrophe: those that begin with ``=``,
``+``, ``-``, ``@`` (after any blanks), a tab or a line break. So do labels that begin with an apostrophe, and the label
NULL, which without one is the missing value. Removing one apostrophe restores every label. Numbers, also negative ones,
are never marked. Programs that split at other characters than commas are not covered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InvalidInput
from ...mechanism import Mechanism
from ...pages.html import page
from ..quantile_rows import QUANTILE_MEANING, QuantileTable, quantile_file
from ..tables.columns import STATUS_MEANING, error_meanings
from ..tables.csv_text import table_files
from .guarantee import guarantee_text

if TYPE_CHECKING:
    from ...ledger.budget import Cost
    from ...report import Json
    from ..plan.plan import Plan
    from .released import Release

#: The value of ``format`` in release.json.
FORMAT = "discreet release"

#: Name of the file of checksums.
CHECKSUM_FILE = "SHA256SUMS"

#: Exceptions that reading a damaged or forged file may raise.
MALFORMED = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
)

#: Column that every layout has -> its meaning.
COLUMN_MEANING = {
    "edition": "the state of the data that was counted, by the name its curator gave it; missing if it has none",
    "count": "the noisy count; empty if suppressed",
    "status": "A, M or Q: see status_meaning",
}

# ------------------------------------------------------------------------------------------------ the files


def file_names(plan: Plan) -> list[str]:
    """Return the names of all files of the bundle of a plan except the checksums."""
    names = []
    files = zip(table_files(len(plan.tables)), plan.tables, strict=True)
    for number, (name, table) in enumerate(files):
        names += table.file_names(name)
        names += [quantile_file(name)] if plan.quantiles_of(number) else []
    mechanisms, _ = mechanism_files(table.mechanisms for table in plan.tables)
    names += lookup_files(plan)
    return [*names, "request.json", "release.json", *mechanisms, "GUARANTEE.md", "index.html"]


def lookup_files(plan: Plan) -> list[str]:
    """Return the names of the files of the look-ups of a plan."""
    return [f"lookup_{number}.csv" for number in range(1, 1 + len(plan.lookups))]


def mechanism_files(mechanisms: Iterable[Sequence[Mechanism]]) -> tuple[dict[str, str], list[list[str]]]:
    """Return the file of each distinct mechanism, and for each table the names of its files."""
    tables = [[mechanism_text(one) for one in table] for table in mechanisms]
    distinct = list(dict.fromkeys(text for table in tables for text in table))
    single = len(distinct) == 1
    names = {text: "mechanism.json" if single else f"mechanism_{k}.json" for k, text in enumerate(distinct, 1)}
    return {name: text for text, name in names.items()}, [[names[text] for text in table] for table in tables]


def mechanism_text(mechanism: Mechanism) -> str:
    """Return the text that ``m.save`` writes."""
    return json.dumps(mechanism.to_json(), indent=1) + "\n"


def statement(release: Release) -> dict[str, Any]:
    """Return the content of release.json. It is for readers; an audit computes all of it again."""
    plan = release.plan
    _, mechanisms = mechanism_files(table.plan.mechanisms for table in release.tables)
    files = table_files(len(release.tables))
    return {
        "format": FORMAT,
        "version": release.layout,
        **({"template": release.template} if release.layout > 2 else {}),
        "program": {"name": "discreet", "version": release.version},
        "dataset": plan.dataset,
        "edition": plan.edition,
        "unit": plan.protection.unit,
        **({} if plan.protection.per is None else {"per": plan.protection.per.text}),
        "relation": plan.protection.relation,
        "max_groups": plan.protection.max_groups,
        **({} if plan.protection.max_rows is None else {"max_rows": plan.protection.max_rows}),
        "cost": plan.cost.to_json(),
        "level": str(plan.level),
        "cells_moved_by_one_unit": [table.plan.moved_cells for table in release.tables],
        "tables": [
            {
                "title": table.title,
                "file": file,
                "question": table.question.text,
                "columns": list(table.headings),
                "measures": list(table.measures),
                "cells": int(table.counts.size),
                "structural_zeros": len(table.groups.zeros) * len(table.measures),
                "suppress_below": table.plan.suppress_below,
                "output": table.plan.noise.output,
                "mechanisms": mechanism_names,
                **table.statement(file),
                **_quantiles_statement(release.quantile_table(number), file),
            }
            for number, (table, file, mechanism_names) in enumerate(zip(release.tables, files, mechanisms, strict=True))
        ],
        **({"lookups": _lookups_statement(plan)} if plan.lookups else {}),
        "ledger": dict(release.ledger),
        **({"budget": _budget_json(release.budget)} if release.layout > 3 else {}),
        **({"publication": plan.publication.to_json()} if plan.publication.to_json() else {}),
        "guarantee": list(release.guarantee),
        "status_meaning": STATUS_MEANING,
        "column_meaning": column_meaning(release),
        "label_marks": "a label that begins with an apostrophe has it as a mark: take one apostrophe away; NULL "
        "without one is the missing value",
    }


def _quantiles_statement(quantiles: QuantileTable | None, file: str) -> dict[str, Json]:
    """Return the fields of release.json on the quantiles of a table."""
    if quantiles is None:
        return {}
    about: dict[str, Json] = {
        "file": quantile_file(file),
        "columns": list(quantiles.headings),
        "column_meaning": QUANTILE_MEANING,
    }
    return {"quantiles": about}


def _lookups_statement(plan: Plan) -> list[Json]:
    """Return the fields of release.json on the look-ups."""
    return [
        {"name": one.file_name, "file": file, "key": one.key, "column": one.column, "sha256": one.digest}
        for file, one in zip(lookup_files(plan), plan.lookups, strict=True)
    ]


def _budget_json(budget: Cost | None) -> dict[str, Json] | None:
    """Return the total budget of the ledger as release.json states it."""
    return None if budget is None else budget.to_json()


def column_meaning(release: Release) -> dict[str, str]:
    """Return the meaning of every column of the tables."""
    columns = error_meanings((one for table in release.tables for one in table.columns), release.plan.protection.unit)
    extra = {name: meaning for table in release.tables for name, meaning in table.extra_meanings.items()}
    return {**COLUMN_MEANING, **columns, **extra}


def json_text(content: Mapping[str, object]) -> str:
    """Format JSON for a file of the bundle."""
    text = json.dumps(content, ensure_ascii=False)
    # indented for readers, unless it is too long to read and indenting would take seconds
    return (json.dumps(content, indent=1, ensure_ascii=False) if len(text) < 200_000 else text) + "\n"


def bundle_page(release: Release, pictures: Sequence[str] | None = None) -> str:
    """Return the text of index.html, which links the files that it names; drawn pictures may be given."""
    return page(release.report(), pictures, file_names(release.plan))


def bundle_files(release: Release) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every file of the bundle except the checksums."""
    files = zip(table_files(len(release.tables)), release.tables, strict=True)
    for number, (name, table) in enumerate(files):
        for file, text in table.files(name):
            yield file, text.encode()
        if (quantiles := release.quantile_table(number)) is not None:
            yield quantile_file(name), quantiles.csv_text().encode()
    for name, one in zip(lookup_files(release.plan), release.plan.lookups, strict=True):
        if one.content is None:
            raise InvalidInput(f"the look-up {one.file_name!r} was not read.", "Plan again with the dataset file.")
        yield name, one.content
    yield "request.json", json_text(release.request).encode()
    yield "release.json", json_text(statement(release)).encode()
    for name, text in mechanism_files(table.plan.mechanisms for table in release.tables)[0].items():
        yield name, text.encode()
    yield "GUARANTEE.md", guarantee_text(release).encode()
    yield "index.html", bundle_page(release).encode()
