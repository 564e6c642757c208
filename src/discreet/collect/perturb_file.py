"""``dc.perturb_file``: a column of true values in, a column of reports out, as people's own devices would do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidInput, named
from ..explanation import LocalGuarantee, local_guarantee
from ..mechanism import Mechanism
from .columns import ProgressCallback
from .mechanism_files import open_mechanisms
from .open import open_column, write_reports


@dataclass(frozen=True)
class PerturbedFile:
    """A file of reports.

    Attributes
    ----------
    output
        Its path.
    reports
        Number of reports in it.
    guarantees
        The guarantee of each group by its name; the name is empty where everybody used one mechanism.
    in_clear
        Name of the column that was written unchanged, apart from the mechanisms' names; None without one.

    Examples
    --------
    >>> PerturbedFile("reports.csv", 3, {}, None).reports
    3
    """

    output: str
    reports: int
    guarantees: Mapping[str, LocalGuarantee]
    in_clear: str | None


def perturb_file(
    data: str | Path,
    column: str | Sequence[str],
    mechanism: Mechanism | str | Path | Mapping[str, Mechanism | str | Path],
    output: str | Path,
    *,
    group: str | None = None,
    by: str | None = None,
    table: str | None = None,
    on_progress: ProgressCallback | None = None,
) -> PerturbedFile:
    """Replace the true values in a column by noisy reports, as each person's own device would, and write these alone.

    Parameters
    ----------
    data
        The people: a .csv or .tsv (.gz), .parquet or .duckdb file, or an address of Spark.
    column
        The column of true values; for places, the two columns of their coordinates.
    mechanism
        The mechanism of the devices, or its file; with ``group`` one for each name in that column.
    output
        A file that does not exist yet: .parquet, .csv, .tsv (.gz) or .duckdb; from Spark a new folder.
    group
        The column that names each person's mechanism. It is written too.
    by
        A column of groups, such as sex, that is also written, unprotected.
    table
        For DuckDB files with several tables: the table.
    on_progress
        Called with the share that has been read.

    Raises
    ------
    InvalidInput
        If a value is missing, out of range or unknown. Nothing is written then.

    Examples
    --------
    >>> import discreet as dc, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "people.csv").write_text("visits\\n3\\n0\\n7\\n")
    >>> made = dc.perturb_file(folder / "people.csv", "visits", dc.geometric(9, epsilon=1), folder / "reports.csv")
    >>> made.reports, (folder / "reports.csv").read_text().split()[0]
    (3, 'report')
    """
    if by is not None and group is not None:
        raise InvalidInput(
            f"the column of {named('group')} is already written next to the reports.",
            f"Leave {named('by')} out.",
            argument="by",
        )
    mechanisms = open_mechanisms(mechanism, group)
    guarantees = {name: local_guarantee(one) for name, one in mechanisms.items()}
    columns = [column] if isinstance(column, str) else list(column)
    source = open_column(data, columns, table, group=group or by, values=next(iter(mechanisms.values())).inputs)
    if by is not None:
        mechanisms = dict.fromkeys(source.group_names(), mechanisms[""])
    reports = write_reports(mechanisms, source, output, on_progress)
    return PerturbedFile(str(output), reports, guarantees, by)
