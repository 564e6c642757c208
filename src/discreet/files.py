"""Loading mechanisms from their files, and matrices from CSV.

A mechanism file is JSON, versioned and exact: ``m.save(path)`` keeps a closed form as its exact parameters, everything
else as its exact integers. Loading rebuilds the mechanism,
has the judge look at it again, and refuses a file whose numbers do not prove what it claims. A digest finds damage that
leaves a weaker claim true; it is not a signature, and the judge does not rely on it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np

from . import utility
from .checking import check
from .errors import Altered, DiscreetError, InvalidInput, NotPrivate, UnreadableFile, call
from .exact.base import Kernel
from .exact.kernels import kernel_from
from .exact.rationals import claimed
from .exact.tables import MOST_PLACES, Table
from .matrix_text import matrix_from_text
from .mechanism import FORMAT, VERSION, Mechanism, fingerprint
from .mechanisms.building import rebuild_saved
from .mechanisms.families import CLOSED_FORMS
from .privacy.certificate import Certificate, certify
from .privacy.matrices import read_matrix
from .ptables.reading import ptable_from_text, read_ptable, recognise
from .ptables.table import PTable
from .spaces import Counts, Integers, Space, space_from
from .strict_json import read_json


def load(path: str | Path) -> Mechanism:
    """Read a mechanism from a file, rebuild it, and have the judge check its claim.

    Raises
    ------
    UnreadableFile
        When the file is not a mechanism, or of a newer version; ``Altered`` when it was damaged or changed.
    NotPrivate
        When its numbers do not prove the privacy it claims.

    Examples
    --------
    >>> import tempfile, discreet as dc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dc.explicit_fair(8, alpha="10/11").save(f"{folder}/m.json")
    ...     m = load(f"{folder}/m.json")
    >>> m.certificate.ratio
    Fraction(11, 10)
    """
    try:
        data = Path(path).read_bytes()
    except OSError as problem:
        raise UnreadableFile(f"cannot read {path}: {problem.strerror or problem}.") from None
    refuse_foreign(data, str(path))
    return mechanism_from_text(data, str(path))


def mechanism_from_text(text: str | bytes, name: str) -> Mechanism:
    """Return the mechanism that a file holds, rebuilt and checked as by :func:`load`; errors call it by the name."""
    return rebuild(read_json(text, name, _hint_of_matrix(name)), name)


def _hint_of_matrix(name: str) -> str:
    """Return what to do instead, for somebody who gives a matrix where a mechanism belongs."""
    if not name.lower().endswith((".csv", ".tsv", ".txt")):
        return f"A mechanism file is written by {call('m.save(path)', 'discreet design -o FILE')}."
    return "If it is a matrix, make a mechanism of it in Python: dc.from_matrix(matrix).save('m.json')"


def rebuild(content: object, path: str) -> Mechanism:
    """Return the mechanism that :meth:`Mechanism.to_json` wrote, proved again; ``path`` is what errors call it."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UnreadableFile(f"{path} is not a mechanism file (its 'format' is not {FORMAT!r}).")
    if content.get("version") != VERSION:
        raise UnreadableFile(
            f"{path} has version {content.get('version')!r}; this program reads version {VERSION}.", "Upgrade discreet."
        )
    if content.get("sha256") != fingerprint(content):
        raise Altered(f"{path} is damaged or was altered: its 'sha256' is not that of its content.")
    try:
        mechanism = _rebuild(content)
        _compare(mechanism, content, path)
        _check_properties(mechanism, path)
        _check_design(mechanism, path)
        unproved = _unproved(mechanism, content) if "kernel" in content else _restated(mechanism, content)
        mechanism = replace(mechanism, certificate=replace(mechanism.certificate, unproved=unproved))
    except DiscreetError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AssertionError, ArithmeticError, AttributeError) as problem:
        raise Altered(f"{path} is damaged: {type(problem).__name__} at {problem}.") from None
    return mechanism


def _rebuild(content: dict[str, Any]) -> Mechanism:
    family = content["family"]
    if family == "product":
        factors = [rebuild(one, f"part {k} of the product") for k, one in enumerate(content["factors"], 1)]
        return reduce(mul, factors)
    known = CLOSED_FORMS.get(family)
    if known is not None and known.saved:
        parameters = content["parameters"]
        mechanism = rebuild_saved(known, parameters)
        if "on" in parameters:
            space = space_from(parameters["on"])
            assert isinstance(space, Counts | Integers) and isinstance(parameters["clamp"], bool)
            mechanism = mechanism.on(space, clamp=parameters["clamp"])
        return mechanism
    if not re.fullmatch(r"[a-z][a-z_]{0,40}", str(family)):
        raise UnreadableFile("the family of a mechanism is a short name in small letters.")
    if "kernel" not in content:
        raise UnreadableFile(
            f"the family {family!r} is not known to this program, and the file has no exact integers.",
            "Upgrade discreet.",
        )
    inputs, outputs = space_from(content["inputs"]), space_from(content["outputs"])
    kernel = kernel_from(content["kernel"])
    stated = content["certificate"]
    delta = claimed(float(stated["delta"]))
    epsilon = claimed(float(stated["epsilon"])) if delta else None
    _refuse_misfit(kernel, outputs)
    proved = certify(kernel, inputs, stated["notion"], epsilon=epsilon, delta=delta)
    certificate = Certificate(
        proved.notion,
        float(stated["epsilon"]) if delta else proved.epsilon,  # what was just proved of these very numbers
        float(stated["delta"]),
        proved.ratio,
        proved.how,  # what the judge found now; what the file says of itself is not proved
        proved.tight,
        {name: value for name, value in _figures(stated["details"]).items() if name not in _PROVED_ONLY},
    )
    return Mechanism(inputs, outputs, kernel, certificate, str(family), _figures(content["parameters"], inputs))


#: Figures that stand for a proof: a closed form has them proved, and no file can state them.
_PROVED_ONLY = ("zcdp_rho",)


def _figures(stated: dict[str, Any], inputs: Space | None = None) -> dict[str, Any]:
    """Return what a file states beside its proof: plain values only, and no text that could pretend to be ours.

    The range that a mechanism was moved to is kept where it is that of its inputs.
    """
    return {
        name: value
        for name, value in stated.items()
        if re.fullmatch(r"[a-z0-9_]{1,40}", name)
        and (_is_plain(value) or (name == "on" and inputs is not None and value == inputs.to_json()))
    }


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, bool | int | float) or bool(
        isinstance(value, str) and re.fullmatch(r"[\w./ +<>=\[\]-]{0,60}|-?\d{1,4000}(/\d{1,4000})?", value)
    )


def _refuse_misfit(kernel: Kernel, outputs: Space) -> None:
    """Refuse reports that are not the kernel's; the judge does the same for truths."""
    if not kernel.reports_fill(outputs.size, outputs.ends):
        raise Altered(f"the outputs {outputs!r} are not the reports of the kernel in the file.")


def _compare(mechanism: Mechanism, content: dict[str, Any], path: str | Path) -> None:
    """Refuse a file that claims more than its numbers prove, or describes another mechanism than it holds."""
    stated, proved = content["certificate"], mechanism.certificate
    odd = sorted({*content} ^ {*mechanism.to_json()}) or sorted({*stated} ^ {*proved.to_json()})
    if odd:
        raise Altered(f"{path}: the field {str(odd[0])[:40]!r} is missing, or no mechanism file has it.")
    for name, space in (("inputs", mechanism.inputs), ("outputs", mechanism.outputs)):
        if content[name] != space.to_json():
            raise Altered(f"{path}: its {name} are not those of the mechanism it describes.")
    epsilon = math.inf if stated["epsilon"] == "infinity" else float(stated["epsilon"])
    ratio = None if stated["ratio"] is None else Fraction(stated["ratio"])
    holds = stated["notion"] == proved.notion and epsilon >= proved.epsilon and float(stated["delta"]) >= proved.delta
    if not holds or (ratio is not None and proved.ratio is not None and ratio < proved.ratio):
        raise NotPrivate(
            f"{path} claims {stated['notion']} epsilon = {stated['epsilon']}, delta = {stated['delta']}, but its "
            f"numbers prove {proved}. The file is damaged or was altered."
        )


def _check_properties(mechanism: Mechanism, path: str | Path) -> None:
    """Return a designed mechanism names the properties it was designed for: its numbers must still have them."""
    codes = mechanism.parameters.get("properties") if mechanism.family == "designed" else None
    if not codes or (mechanism.inputs.size or 0) ** 2 > MOST_PLACES:  # beyond it only closed forms, by their lemmas
        return
    for code, result in check(mechanism, codes).items():
        if not result.holds:
            raise Altered(f"{path} claims the property {code}, which its numbers do not have: {result.where}.")


def _check_design(mechanism: Mechanism, path: str | Path) -> None:
    """Refuse a design that states what its numbers contradict: its largest count, its privacy or its cost."""
    if mechanism.family != "designed":
        return
    stated, details, ratio = mechanism.parameters, mechanism.certificate.details, mechanism.certificate.ratio
    if type(stated.get("n")) is not int or stated["n"] != (mechanism.inputs.size or 0) - 1:
        raise Altered(f"{path} states n = {stated.get('n')}, but its counts end elsewhere.")
    if ratio is not None and Fraction(str(stated["alpha"])) * ratio > 1:
        raise Altered(f"{path} states alpha = {stated['alpha']}, and its numbers do not have it.")
    costs = [float(Fraction(str(details[name]))) for name in ("cost", "cost_about") if name in details]
    if details.get("least", 0.0) > min(costs, default=math.inf) * (1 + 1e-12) + 1e-12:
        raise Altered(f"{path} states {details['least']} as the least cost, but its own cost is lower.")
    if _has_known_cost(mechanism):
        again = utility.cost(mechanism, str(stated["loss"]), worst_case=stated["prior"] == "worst case")
        if not all(math.isclose(again, cost, rel_tol=1e-9, abs_tol=1e-12) for cost in costs):
            raise Altered(f"{path} states a cost that is not that of its numbers.")


def _has_known_cost(mechanism: Mechanism) -> bool:
    """Return whether the cost of a design can be worked out from its file; a prior of one's own is not in it."""
    stated, size = mechanism.parameters, mechanism.inputs.size or 0
    known = stated.get("prior") in ("uniform", "worst case") and re.fullmatch(r"L[0-9_]+", str(stated.get("loss")))
    return bool(known) and size**2 <= MOST_PLACES


def _unproved(mechanism: Mechanism, content: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """Return the names of what a file with a kernel states and nobody proved again.

    That no mechanism costs less needs a linear program. What the file says of its proof (``how``, ``tight``, ``ratio``)
    is compared with the proof made as it was read.
    """
    proved = {"on"}
    if mechanism.family == "designed":
        proved |= {"n", "properties"} | (
            {"loss", "prior", "cost", "cost_about"} if _has_known_cost(mechanism) else set()
        )
    stated = ("family", *mechanism.parameters, *mechanism.certificate.details)
    of_proof = [
        name for name in _differing(content["certificate"], mechanism.certificate.to_json()) if name != "details"
    ]
    return tuple(dict.fromkeys((*(name for name in stated if name not in proved), *of_proof)))


def _restated(mechanism: Mechanism, content: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """The names of what the file of a closed form states otherwise than the mechanism rebuilt from its parameters."""
    names: list[str] = []
    for part in ("parameters", "certificate"):
        proved = mechanism.to_json()[part]
        assert isinstance(proved, dict)
        names += _differing(content[part], proved)
    return tuple(names)


def _differing(stated: Mapping[str, object], proved: Mapping[str, object]) -> list[str]:
    """Return the names of values that a file states otherwise than they were proved, compared as they are written."""
    return [
        name
        for name in {**stated, **proved}
        if json.dumps(stated.get(name), sort_keys=True) != json.dumps(proved.get(name), sort_keys=True)
    ]


# ------------------------------------------------------------------------------------------------ matrices


def read_csv(path: str | Path) -> tuple[Table, tuple[str, ...]]:
    """Return a matrix of probabilities from a text file, exactly: a line for each truth, a column for each report.

    What may be in it, see :func:`discreet.matrix_text.matrix_from_text`.

    Returns
    -------
    table, notes
        The exact table, and what had to be said about it: a heading left out, rows that had to be normalised.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as problem:
        raise UnreadableFile(f"cannot read {path}: {problem.strerror or problem}.") from None
    refuse_foreign(data, str(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFile(f"{path} is not text; a matrix is a CSV file of probabilities.") from None
    return matrix_from_text(text, str(path))


def read_subject(path: str | Path) -> tuple[Mechanism | Table | PTable, tuple[str, ...]]:
    """Whatever can be judged: a mechanism file, a matrix (text or .npy) or a p-table, recognised by its content.

    Returns
    -------
    subject, notes
        The mechanism, the exact table or the p-table, and what had to be said about it.
    """
    file = Path(path)
    if file.suffix.lower() == ".npy" and file.is_file():
        return _read_npy(file)
    if file.suffix.lower() in (".csv", ".tsv", ".txt", ".yaml", ".yml", ".pert") and _is_ptable(file):
        table = read_ptable(file)
        return table, table.notes
    if file.suffix.lower() in (".csv", ".tsv", ".txt"):
        return read_csv(file)
    if file.suffix.lower() == ".json" or not file.is_file():
        return load(file), ()
    return _of_no_known_ending(file)


def _of_no_known_ending(file: Path) -> tuple[Mechanism | Table | PTable, tuple[str, ...]]:
    data = file.read_bytes()
    if data.startswith(b"SQLite format 3"):
        raise UnreadableFile(f"{file} looks like a ledger.", f"Check it with: discreet ledger verify {file}")
    refuse_foreign(data, str(file))
    if not data.lstrip().startswith(b"{") and not _is_ptable(file):
        raise UnreadableFile(
            f"cannot read {file}.", "Use .json (mechanism), .csv, .tsv, .txt or .npy (matrix), or a p-table."
        )
    return subject_from_text(data, str(file))


def subject_from_text(data: bytes, name: str) -> tuple[Mechanism | Table | PTable, tuple[str, ...]]:
    """Return the same from what was read elsewhere, such as standard input; errors call it by the name."""
    refuse_foreign(data, name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFile(
            f"cannot read {name}: it is not text.", "Give a mechanism (.json), a matrix (.csv) or a p-table."
        ) from None
    if not text.strip():
        raise UnreadableFile(f"{name} is empty.", "Give a mechanism (.json), a matrix (.csv) or a p-table.")
    if text.lstrip().startswith("{"):
        return mechanism_from_text(text, name), ()
    layout = recognise(text)
    if layout is not None:
        table = ptable_from_text(text, layout, name)
        return table, table.notes
    return matrix_from_text(text, name)


def _is_ptable(file: Path) -> bool:
    try:
        return recognise(file.read_text(encoding="utf-8-sig"), file.suffix) is not None
    except (OSError, UnicodeDecodeError):
        return False  # who reads it next says what is wrong


# ------------------------------------------------------------------------------------------------ other programs' files


def _read_npy(file: Path) -> tuple[Table, tuple[str, ...]]:
    """Return a matrix that NumPy saved. Python objects in it, which can run code, are not read."""
    try:
        # mapped, because a few bytes can state terabytes: memory is taken for what the file has
        return read_matrix(np.load(file, mmap_mode="r", allow_pickle=False))
    except InvalidInput as problem:
        raise UnreadableFile.because(str(file), problem) from None
    except (OSError, ValueError, EOFError):
        raise UnreadableFile(
            f"{file} is not an array of numbers.", f"Save the matrix by itself: np.save({file.name!r}, matrix)"
        ) from None


_AS_CSV = "Save the sheet as CSV, and give that: {csv}"
_AS_TEXT = "Save the matrix as text: np.savetxt({csv!r}, matrix, fmt='%s', delimiter=',')"

#: How the files of other programs begin, what they are, and what to do with them.
_FOREIGN = (
    (b"\x93NUMPY", "is a NumPy array.", "Give it a name that ends in .npy"),
    (b"PAR1", "is a Parquet file.", "Save the matrix as text: df.to_csv({csv!r}, index=False, header=False)"),
    (b"\xd0\xcf\x11\xe0", "is an Excel file.", _AS_CSV),
    (b"\x80", "is a pickle, which can run code when it is read.", _AS_TEXT),
    (b"\x1f\x8b", "is compressed.", "Unpack it first: gunzip {name}"),
    (b"\x89HDF", "is an HDF5 file.", _AS_TEXT),
)
_ARRAYS = "is an archive of NumPy arrays.", "Save the matrix by itself: np.save('matrix.npy', arrays['matrix'])"
_BUNDLE = "is a zip archive.", "Unpack it, then verify the folder: a bundle is re-checked as a folder"
_ARCHIVE = "is a zip archive.", "Unpack it first, and give what is in it: a file, or the folder of a bundle"

#: What stands in zip archives without being compressed, most of it names of files, and what such an archive is.
_ZIPPED = (
    (b"[Content_Types].xml", ("is an Excel file.", _AS_CSV)),
    (b"opendocument.spreadsheet", ("is a spreadsheet.", _AS_CSV)),
    (b"SHA256SUMS", _BUNDLE),
)


def refuse_foreign(data: bytes, name: str) -> None:
    """Refuse a file of another program by what it begins with, and say what to do with it.

    Parameters
    ----------
    data
        What is in the file.
    name
        What errors call it.
    """
    csv_name = str(Path(name).with_suffix(".csv").name) if name.strip("-") else "matrix.csv"
    found = next(((what, advice) for begin, what, advice in _FOREIGN if data.startswith(begin)), None)
    if data.startswith(b"PK\x03\x04"):
        found = _zipped(data)
    if found is not None:
        what, advice = found
        raise UnreadableFile(f"{name} {what}", advice.format(csv=csv_name, name=name))


def _zipped(data: bytes) -> tuple[str, str]:
    """Return what a zip archive is."""
    if b".npy" in data[:100]:
        return _ARRAYS
    return next((found for mark, found in _ZIPPED if mark in data), _ARCHIVE)
