"""``dc.estimate_files``, ``dc.estimate_files_by``: estimates from columns of reports in files or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from ..addresses import read_address
from ..errors import InvalidInput, arg, named
from ..estimation.describing.report import Origin
from ..estimation.groups import GroupEstimates, estimate_by
from ..estimation.methods import estimate
from ..estimation.result import Estimate
from ..mechanism import Mechanism
from ..optimise.families import FAMILIES
from ..spaces import Counts
from .columns import ProgressCallback
from .mechanism_files import open_mechanism, open_mechanisms
from .open import open_column

#: One file or address, or several.
Files: TypeAlias = str | Path | Sequence[str | Path]

#: A mechanism, or the path of its file.
MechanismFile: TypeAlias = Mechanism | str | Path

#: How often each report occurs.
ReportCounts: TypeAlias = dict[object, int]


def estimate_files(
    files: Files,
    mechanism: MechanismFile | Sequence[MechanismFile] | Mapping[str, MechanismFile],
    *,
    column: str | None = None,
    group: str | None = None,
    table: str | None = None,
    over: Counts | None = None,
    on_progress: ProgressCallback | None = None,
    **options: Any,
) -> Estimate:
    """Estimate the distribution of true values from the reports in files.

    Parameters
    ----------
    files
        Files of reports (.csv or .tsv (.gz), .parquet, .duckdb), or addresses of Spark.
    mechanism
        The mechanism that made the reports, or its file; a list with one for each file; or, with ``group``, one for
        each name in that column. Files of one mechanism are added up; groups with different mechanisms are estimated
        together.
    column
        The column of reports, where there are several.
    group
        The column that names the mechanism of each report.
    table
        For DuckDB files with several tables: the table.
    over
        For unbounded noise: the possible true values.
    on_progress
        Called with the share that has been read.
    options
        Others of :func:`discreet.estimate`, such as ``method``.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder, m = pathlib.Path(tempfile.mkdtemp()), dc.randomized_response(["no", "yes"], epsilon=2)
    >>> _ = (folder / "a.csv").write_text("report\\n" + "yes\\n" * 30 + "no\\n" * 70)
    >>> _ = (folder / "b.csv").write_text("report\\n" + "yes\\n" * 50 + "no\\n" * 50)
    >>> e = dc.estimate_files([folder / "a.csv", folder / "b.csv"], m)
    >>> e.people, e.distribution.round(2).tolist()
    (200, [0.63, 0.37])
    """
    places = _listed(files)
    if group is None:
        mechanisms = _for_each_file(mechanism, len(places))
    else:
        by_name = open_mechanisms(mechanism, group)  # type: ignore[arg-type]
        mechanisms = list(by_name.values())
    for one in mechanisms:
        _refuse_range(one, over)
    if group is None:
        samples, names = _count_files(places, mechanisms, column, table, on_progress)
    else:
        samples, names = _count_groups(places, by_name, column, table, group, on_progress)
    shared = {**options, "over": over}
    result = estimate(*samples[0], **shared) if len(samples) == 1 else estimate(samples, **shared)
    return replace(result, origin=Origin(tuple(read_address(place).short_name for place in places), tuple(names)))


def estimate_files_by(
    files: Files,
    mechanism: MechanismFile,
    by: str,
    *,
    column: str | None = None,
    table: str | None = None,
    over: Counts | None = None,
    on_progress: ProgressCallback | None = None,
    **options: Any,
) -> GroupEstimates:
    """Estimate the distribution of true values in each group that a column of the files names, and their differences.

    Parameters
    ----------
    files, column, table, over, on_progress
        As for :func:`discreet.estimate_files`.
    mechanism
        The mechanism that made all reports, or its file.
    by
        The column of groups, such as sex. It is in clear: this column is not protected.
    options
        Others of :func:`discreet.estimate_by`, such as ``method``.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> file, m = pathlib.Path(tempfile.mkdtemp()) / "reports.csv", dc.randomized_response(["no", "yes"], epsilon=2)
    >>> _ = file.write_text("sex,report\\n" + "f,yes\\nf,no\\n" * 300 + "m,yes\\n" * 600)
    >>> dc.estimate_files_by(file, m, "sex").people
    1200
    """
    opened = open_mechanism(mechanism)
    _refuse_range(opened, over)
    places = _listed(files)
    sources = [open_column(place, column, table, group=by) for place in places]
    names = sorted({name for source in sources for name in source.group_names()})
    totals: list[ReportCounts] = [{} for _ in names]
    for number, source in enumerate(sources):
        share = _share_of_file(on_progress, number, len(sources))
        for total, counts in zip(
            totals, source.counts_by_group([opened.outputs] * len(names), names, share), strict=True
        ):
            _add(total, counts)
    return estimate_by(dict(zip(names, totals, strict=True)), opened, column=by, over=over, **options)


def _listed(files: Files) -> list[str | Path]:
    places = [files] if isinstance(files, str | Path) else list(files)
    if not places:
        raise InvalidInput.must_be("files", "at least one file of reports", files)
    return places


def _for_each_file(mechanism: object, files: int) -> list[Mechanism]:
    """Return the mechanism of all files, or a list with that of each."""
    if isinstance(mechanism, Sequence) and not isinstance(mechanism, str):
        given = list(mechanism)
        if len(given) not in (1, files):
            raise InvalidInput(
                f"give one {named('mechanism')}, or one for each of the {files} files of reports; got {len(given)}.",
                f"For several mechanisms in one file, name their column with {named('group')}.",
            )
        return [open_mechanism(one) for one in given]
    return list(open_mechanisms(mechanism, None).values())  # type: ignore[arg-type]


def _refuse_range(mechanism: Mechanism, over: Counts | None) -> None:
    """Refuse a wrong range before a large file is read."""
    family, size = FAMILIES.title(mechanism.family), mechanism.inputs.size
    if size is None and over is None:
        raise InvalidInput(
            f"the range of true counts is missing: {family} has no largest count.",
            f"Add {arg('over', 'Counts(N)', 'N')} for counts from 0 to N.",
        )
    if size is not None and over is not None and over.size != size:
        raise InvalidInput(
            f"{named('over')} does not fit this mechanism: {family} has {size:,} true values already.",
            f"Leave {named('over')} out.",
        )


def _count_files(
    files: Sequence[str | Path],
    mechanisms: Sequence[Mechanism],
    column: str | None,
    table: str | None,
    on_progress: ProgressCallback | None,
) -> tuple[list[tuple[ReportCounts, Mechanism]], list[str]]:
    """Return the counts of each file with its mechanism, and its name; files of one mechanism are added up."""
    samples: list[tuple[ReportCounts, Mechanism]] = []
    for number, file in enumerate(files):
        mechanism = mechanisms[min(number, len(mechanisms) - 1)]
        share = _share_of_file(on_progress, number, len(files))
        counts = open_column(file, column, table).counts(mechanism.outputs, share)
        if len(mechanisms) == 1 and samples:
            _add(samples[0][0], counts)
        else:
            samples.append((counts, mechanism))
    return samples, [read_address(file).short_name for file in files[: len(samples)]]


def _count_groups(
    files: Sequence[str | Path],
    mechanisms: Mapping[str, Mechanism],
    column: str | None,
    table: str | None,
    group: str,
    on_progress: ProgressCallback | None,
) -> tuple[list[tuple[ReportCounts, Mechanism]], list[str]]:
    """Return the counts of each group that a column names with its mechanism, and its name, without empty groups."""
    names, outputs = list(mechanisms), [one.outputs for one in mechanisms.values()]
    totals: dict[str, ReportCounts] = {name: {} for name in names}
    for number, file in enumerate(files):
        source = open_column(file, column, table, group=group)
        share = _share_of_file(on_progress, number, len(files))
        for name, counts in zip(names, source.counts_by_group(outputs, names, share), strict=True):
            _add(totals[name], counts)
    present = [name for name in names if totals[name]] or names[:1]
    return [(totals[name], mechanisms[name]) for name in present], present


def _share_of_file(on_progress: ProgressCallback | None, number: int, files: int) -> Callable[[float], None] | None:
    """Return a callback for the share of one file that reports the share of all."""
    if on_progress is None:
        return None
    return lambda share: on_progress((number + share) / files)


def _add(total: ReportCounts, counts: ReportCounts) -> None:
    for value, count in counts.items():
        total[value] = total.get(value, 0) + count
