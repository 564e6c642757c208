"""The data of the papers: Adult and Gowalla from a folder that the user names, Adult also by download, one built in.

Neither Adult nor Gowalla comes with the package. ``DISCREET_DATA`` or ``--data`` names a folder that has them, as their
publishers write them or as tables with a heading; files may be compressed by gzip.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import NoReturn

import numpy as np

from discreet.errors import InvalidInput, SourceFailed, UnreadableFile, arg
from discreet.exact.arrays import FloatArray, IntArray
from discreet.sources.packed import UnpackedTooLarge, unpack_gzip
from discreet.wording import listed

#: The environment variable that names the folder with the data.
FOLDER = "DISCREET_DATA"

ADULT_ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data"
ADULT_SHA256 = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
ADULT_BYTES = 3_974_305

#: The largest table that is unpacked, in bytes; all check-ins of Gowalla have a fifth of that.
MAX_UNPACKED_BYTES = 2**31

#: The title of a data set, and where to find it.
SOURCES = {
    "adult": "UCI Adult (Becker and Kohavi 1996, doi.org/10.24432/C5XW20)",
    "gowalla": "Gowalla check-ins (Cho, Myers and Leskovec 2011, SNAP loc-gowalla)",
    "household": "daily sums of UCI Individual Household Electric Power Consumption (doi.org/10.24432/C58K54)",
}

_NAMES = {
    "adult": ("adult.csv.gz", "adult.csv", "adult.data", "adult.data.gz"),
    "gowalla": (
        "gowalla_paris.csv.gz", "gowalla_paris.csv",
        "loc-gowalla_totalCheckins.txt.gz", "loc-gowalla_totalCheckins.txt",
    ),
    "household": ("household_power_daily.csv.gz", "household_power_daily.csv"),
}  # fmt: skip

_ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
    "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
)  # fmt: skip
_GOWALLA_COLUMNS = ("user", "time", "lat", "lon")
_HOUSEHOLD_COLUMNS = ("date", "kwh")


@dataclass(frozen=True)
class Adult:
    """What the studies read of Adult: one entry for each person, in the file's order."""

    age: IntArray
    female: IntArray
    rich: IntArray


@dataclass(frozen=True)
class Checkins:
    """Check-ins: who and where, in degrees."""

    user: IntArray
    lat: FloatArray
    lon: FloatArray


@dataclass(frozen=True)
class Datasets:
    """Where the data of the studies comes from.

    Attributes
    ----------
    folder
        The folder that has it; the environment variable DISCREET_DATA if not given.
    stand_ins
        True if synthetic data is used even where the data set exists.
    """

    folder: Path | None = None
    stand_ins: bool = False

    @property
    def _folder(self) -> Path | None:
        folder_name = os.environ.get(FOLDER)
        return self.folder if self.folder is not None else Path(folder_name) if folder_name else None

    def has(self, name: str) -> bool:
        """Return True if a data set is in the folder.

        >>> Datasets(Path("there is no such folder")).has("adult")
        False
        """
        return not self.stand_ins and self._find(name) is not None

    def adult(self) -> Adult:
        """Return age, sex and income of the people in Adult."""
        table = _table(self._path("adult"), _ADULT_COLUMNS, ",")
        income = [text.rstrip(".") for text in table["income"]]
        return Adult(
            _whole_numbers(table["age"]), _equal(table["sex"], "Female", "Male"), _equal(income, ">50K", "<=50K")
        )

    def gowalla(self) -> Checkins:
        """Return all check-ins that the file has."""
        file = self._path("gowalla")
        table = _table(file, _GOWALLA_COLUMNS, "\t" if ".txt" in file.name else ",")
        return Checkins(_whole_numbers(table["user"]), _numbers(table["lat"]), _numbers(table["lon"]))

    def household(self) -> FloatArray:
        """Return the daily use of a household in Sceaux, in kWh."""
        return _numbers(_table(self._path("household"), _HOUSEHOLD_COLUMNS, ",")["kwh"])

    def doctor_visits(self) -> Mapping[str, list[str]]:
        """Return the RAND Health Insurance Experiment, which comes with the package: 20,190 years of 5,912 people.

        >>> len(Datasets().doctor_visits()["person"])
        20190
        """
        packed = (files("discreet_studies") / "data" / "doctor_visits.csv.gz").read_bytes()
        return _columns(csv.reader(io.StringIO(unpack_gzip(packed, MAX_UNPACKED_BYTES).decode())), ())

    def _find(self, name: str) -> Path | None:
        folder = self._folder
        candidates = [] if folder is None else [folder / file for file in _NAMES[name]]
        return next((file for file in candidates if file.is_file()), None)

    def _path(self, name: str) -> Path:
        path = self._find(name)
        if path is None:
            self.refuse(name)
        return path

    def refuse(self, name: str) -> NoReturn:
        """Say which data set is missing, and how to get it."""
        folder = self._folder
        where = f"the folder {folder} has none of" if folder is not None else "no folder was named that has one of"
        advice = f"Name the folder that has {SOURCES[name]}: {arg('data')}, or the environment variable {FOLDER}."
        if name == "adult":
            advice += " `discreet study constrained --download` fetches Adult."
        raise InvalidInput(f"{where} {listed(_NAMES[name], 'and')}.", advice, argument="data")


def download_adult(folder: Path, address: str = ADULT_ADDRESS, seconds: float = 60) -> Path:
    """Fetch Adult's training file into a folder, and keep it only if it is the published one.

    Parameters
    ----------
    folder
        Where ``adult.data`` is written; it is made if it is not there.
    address
        Where to fetch it from.
    seconds
        How long to wait for the server.

    Returns
    -------
    Path
        The file.
    """
    target = folder / "adult.data"
    if target.is_file() and _sha256(target.read_bytes()) == ADULT_SHA256:
        return target
    try:
        with urllib.request.urlopen(address, timeout=seconds) as answer:
            content = answer.read(ADULT_BYTES + 1)
    except (OSError, ValueError) as problem:
        if isinstance(problem, urllib.error.HTTPError):
            problem.close()  # it is an answer as well, and its connection stays open with it
        raise SourceFailed(
            f"Adult could not be fetched from {address}: {problem}",
            f"Fetch it by other means, and name its folder by {FOLDER}.",
        ) from problem
    if _sha256(content) != ADULT_SHA256:
        raise SourceFailed(
            f"what {address} sent is not the published Adult file: {len(content):,} bytes, SHA-256 {_sha256(content)}.",
            f"It should have {ADULT_BYTES:,} bytes and SHA-256 {ADULT_SHA256}. Nothing was written.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    part.write_bytes(content)
    part.replace(target)
    return target


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _table(file: Path, columns: Sequence[str], separator: str) -> Mapping[str, list[str]]:
    """Return the columns of a file with or without a heading."""
    packed = file.read_bytes()
    try:
        text = (unpack_gzip(packed, MAX_UNPACKED_BYTES) if file.suffix == ".gz" else packed).decode()
        first = text.split("\n", 1)[0].split(separator)
        headed = columns[0] in [name.strip() for name in first]
        rows = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
        table = _columns(rows, () if headed else columns)
    except (OSError, EOFError, zlib.error, UnpackedTooLarge, UnicodeDecodeError, csv.Error) as problem:
        raise UnreadableFile(f"{file.name} cannot be read as a table: {problem}") from problem
    missing = [name for name in columns if name not in table]
    if missing:
        raise UnreadableFile(f"{file.name} has no column {listed(missing, 'and')}.")
    return table


def _columns(rows: Iterable[list[str]], names: Sequence[str]) -> Mapping[str, list[str]]:
    """Return columns by name; without names, the first row has them. Blank rows and further fields are left out."""
    whole = [row for row in rows if row]
    heading = [name.strip() for name in names or whole.pop(0)]
    return dict(zip(heading, map(list, zip(*(row[: len(heading)] for row in whole), strict=True)), strict=True))


def _whole_numbers(texts: Sequence[str]) -> IntArray:
    return np.array(texts, dtype=np.int64)


def _numbers(texts: Sequence[str]) -> FloatArray:
    return np.array(texts, dtype=np.float64)


def _equal(texts: Sequence[str], yes: str, no: str) -> IntArray:
    """Return 1 where a text is ``yes``, 0 where it is ``no``; anything else is refused."""
    values = set(texts) - {yes, no}
    if values:
        raise UnreadableFile(f"Adult holds {sorted(values)[0]!r} where {yes} or {no} is expected.")
    return np.array([text == yes for text in texts], dtype=np.int64)
