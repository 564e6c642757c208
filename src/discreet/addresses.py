"""Addresses: the strings that name data, ledgers and stores of reports. No other module parses them.

============================================  ============================================================
address                                       names
============================================  ============================================================
``visits.csv``, ``visits/``, ``v_*.parquet``  data: a file, a folder or a pattern; a ledger: a file
``duckdb:study.db``                           data: a DuckDB database, under any file name
``sqlite:study.ledger``                       a ledger or a store of reports: an SQLite file
``postgresql://user@host/study``              data, a ledger or reports: a PostgreSQL database (extra ``postgres``)
``spark://host:7077?table=visits``            data: a table of a Spark cluster (extra ``spark``)
``spark:local[*]?parquet=visits``             data: files that Spark reads (``parquet``, ``orc``, ``csv``)
============================================  ============================================================

A scheme has at least two letters, so that ``C:\\visits.csv`` is a file. A file that exists under the exact name takes
precedence over any scheme, as does a name with a folder before its colon (``./x:1.csv``). A password is never shown.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from .errors import InvalidInput, InWords, Unsupported, WrongType
from .wording import nearest

#: Endings of data files, and the further endings of compressed ones.
ENDINGS = (".csv", ".tsv", ".parquet", ".duckdb", ".db")
PACKED_ENDINGS = (".gz", ".zst")

#: The scheme of an address that has none.
FILE = "file"


@dataclass(frozen=True)
class Scheme:
    """One kind of address.

    Attributes
    ----------
    example
        An example.
    uses
        The things it can name: ``"data"``, ``"ledger"`` and ``"reports"`` (a store of a collection service).
    in_files
        True if a path follows the scheme.
    extra
        The optional dependencies that it needs.
    """

    example: str
    uses: frozenset[str]
    in_files: bool = True
    extra: str | None = None


SCHEMES: dict[str, Scheme] = {
    FILE: Scheme("visits.csv", frozenset({"data", "ledger", "reports"})),
    "duckdb": Scheme("duckdb:study.db", frozenset({"data"})),
    "sqlite": Scheme("sqlite:study.ledger", frozenset({"ledger", "reports"})),
    "postgresql": Scheme("postgresql://user@host/study", frozenset({"data", "ledger", "reports"}), False, "postgres"),
    "spark": Scheme("spark://host:7077?table=visits", frozenset({"data"}), False, "spark"),
}
_OTHER_NAMES = {"postgres": "postgresql"}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?!:)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Address:
    """The location of data, of a ledger or of a store.

    Attributes
    ----------
    scheme
        One of :data:`SCHEMES`.
    rest
        The part after the scheme. It may contain a password and is for engines only; people see ``str(address)``.

    Examples
    --------
    >>> address = read_address("postgresql://ann:secret@localhost/study")
    >>> address.scheme, address.dataset, str(address)
    ('postgresql', 'study', 'postgresql://ann:***@localhost/study')
    """

    scheme: str
    rest: str = field(repr=False)

    def __str__(self) -> str:
        return self.rest if self.scheme == FILE else without_passwords(f"{self.scheme}:{self.rest}")

    def __repr__(self) -> str:
        return f"<Address {self}>"

    @property
    def in_files(self) -> bool:
        """True if it names files of this computer."""
        return SCHEMES[self.scheme].in_files

    @property
    def path(self) -> Path:
        """Its file, folder or pattern."""
        if not self.in_files:
            raise Unsupported(f"{self} is not a file.", "Name a file.")
        return Path(self.rest)

    @property
    def dataset(self) -> str:
        """The name that a ledger binds: the stem of the file, folder or pattern, or the name of the database.

        >>> read_address("data/visits.csv.gz").dataset, read_address("duckdb:data/study.db").dataset
        ('visits', 'study')
        >>> [read_address(f"spark:local[*]?{place}").dataset for place in ("table=study.visits", "orc=data/v.orc")]
        ['study.visits', 'v']
        """
        if self.in_files:
            return _stem(self.path)
        if self.scheme == "spark" and "=" in self.rest:
            what, _, name = str(self).partition("?")[2].partition("=")
            return name if what == "table" else _stem(Path(name)).removesuffix(".orc")
        place = str(self).partition(":")[2].strip("/").rpartition("@")[2]  # without the user and the password
        host, *parts = re.split(r"[?#]", place)[0].split("/")
        return unquote(parts[-1] if parts else host.split(":")[0])

    @property
    def short_name(self) -> str:
        """The name of the file without its folder, or that of a table elsewhere."""
        return self.path.name if self.in_files else self.dataset

    @property
    def is_pattern(self) -> bool:
        """True if it names files by a pattern; a file that exists under that very name is that file."""
        return self.scheme == FILE and glob.has_magic(self.rest) and not self.path.exists()

    @property
    def is_folder(self) -> bool:
        """True if it names a folder that exists."""
        return self.scheme == FILE and self.path.is_dir()

    @property
    def is_file(self) -> bool:
        """True if it names one file that exists."""
        return self.in_files and self.path.is_file()

    @property
    def may_be_opened(self) -> bool:
        """True if there is something to open: False for a file or folder that does not exist."""
        return not self.in_files or self.is_pattern or self.path.exists()

    @property
    def is_selection(self) -> bool:
        """True if a pattern selects some files of one name, so that the name alone does not identify them.

        >>> [read_address(name).is_selection for name in ("v_*.parquet", "v_202[0-2].parquet", "v")]
        [False, True, False]
        """
        if not self.is_pattern:
            return False
        path = self.path
        by_ending = path.name.count("*") == 1 and path.name.endswith("*.parquet")
        return not by_ending or glob.has_magic(str(path.parent) + path.name.replace("*", ""))


def read_address(given: str | Path | Address, use: str = "data") -> Address:
    """Read the address of data, of a ledger or of a store of reports.

    Parameters
    ----------
    given
        A path or an address.
    use
        ``"data"``, ``"ledger"`` or ``"reports"``.

    Raises
    ------
    InvalidInput
        For an unknown scheme, or one that cannot name such a thing.

    Examples
    --------
    >>> read_address("visits.csv"), read_address("C:\\\\visits.csv").scheme
    (<Address visits.csv>, 'file')
    >>> read_address("mysql://ann:secret@localhost/study")
    Traceback (most recent call last):
    discreet.errors.InvalidInput: mysql: is not a scheme for data, in mysql://ann:***@localhost/study. Write ...
    """
    if isinstance(given, Address):
        return _refuse_other_use(given, use)
    if not isinstance(given, str | os.PathLike):
        raise WrongType.must_be("an address", "a text or a path", InWords(f"a {type(given).__name__}"))
    text = os.fspath(given)
    match = _SCHEME.fullmatch(text)
    if match is None or Path(text).exists():
        return Address(FILE, text)
    scheme = _OTHER_NAMES.get(match[1].lower(), match[1].lower())
    if scheme == FILE or scheme not in SCHEMES:
        raise _unknown(match[1], text, use)
    if not match[2].strip("/"):
        raise InvalidInput(f"{scheme}: names nothing.", f"Write it like {SCHEMES[scheme].example}.")
    return _refuse_other_use(Address(scheme, match[2]), use)


def no_engine(address: Address) -> Unsupported:
    """Return the error for an address of a known scheme that cannot be opened; it names the missing extra.

    >>> print(no_engine(read_address("spark://host:7077?table=visits")))
    this version cannot open spark://host:7077?table=visits. What it needs comes with: pip install 'discreet[spark]'
    """
    extra = SCHEMES[address.scheme].extra
    needs = "" if extra is None else f"What it needs comes with: pip install 'discreet[{extra}]'"
    return Unsupported(f"this version cannot open {address}.", needs)


def without_passwords(text: str) -> str:
    """Return an address without passwords; when in doubt, more is hidden.

    >>> without_passwords("postgresql://ann:a/b@c@host/study?sslmode=require&password=x")
    'postgresql://ann:***@host/study?sslmode=require&password=***'
    """
    text = re.sub(r"(?i)\b((?:ssl)?password|passwd|pwd|secret|token|passfile)=[^&\s]*", r"\1=***", text)
    return re.sub(r"(?s)^([^:]*:/+[^:@/]*):.*@", r"\1:***@", text)


def _unknown(scheme: str, text: str, use: str) -> InvalidInput:
    known = {name: one for name, one in SCHEMES.items() if use in one.uses}
    near = nearest(scheme, [*known, *_OTHER_NAMES])
    suggestion = f"Did you mean {_OTHER_NAMES.get(near, near)}:? " if near else ""
    listed = ", ".join(one.example for one in known.values())
    return InvalidInput(
        f"{scheme}: is not a scheme for {use}, in {without_passwords(text)}.",
        f"{suggestion}Write {use} like one of: {listed}. If it is a file, write ./ before its name.",
    )


def _refuse_other_use(address: Address, use: str) -> Address:
    if use not in SCHEMES[address.scheme].uses:
        names = ", ".join(one.example for one in SCHEMES.values() if use in one.uses)
        other = "data" if use != "data" else "a ledger"
        raise InvalidInput(f"{address.scheme}: names {other}.", f"Write {use} like one of: {names}.")
    return address


def _stem(path: Path) -> str:
    """Return the name of a file without the endings of its format; for a pattern its beginning, or its folder."""
    if glob.has_magic(path.name) and not path.exists():
        name = re.split(r"[*?\[]", path.name)[0].rstrip("-_. ")
        return name or _stem(Path(*path.parts[:-1]).resolve())
    name = path.name or path.resolve().name
    for ending in (*PACKED_ENDINGS, *ENDINGS):
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name
