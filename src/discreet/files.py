"""Loading mechanisms from their files, and matrices from CSV.

A mechanism file is JSON, versioned and exact: ``m.save(path)`` stores the exact parameters of a closed form, and the
exact integers of other mechanisms. Loading rebuilds the mechanism, has it judged again, and refuses a file whose
numbers do not prove its claim. A digest detects damage that leaves a weaker claim true; it is not a signature, and the
judge does not rely on it.
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
from .exact.tables import MAX_TABLE_ENTRIES, Table
from .matrix_text import matrix_from_text
from .mechanism import FORMAT, VERSION, Mechanism, fingerprint
from .mechanisms.build import rebuild_saved
from .mechanisms.families import CLOSED_FORMS
from .privacy.certificate import Certificate, certify
from .privacy.matrices import read_matrix
from .ptables.read import ptable_from_text, read_ptable, recognise
from .ptables.table import PTable
from .spaces import Counts, Integers, Space, space_from
from .strict_json import read_json


def load(path: str | Path) -> Mechanism:
    """Read a mechanism from a file, rebuild it, and have the judge check its claim.

    Parameters
    ----------
    path
        A mechanism file (JSON), as :meth:`Mechanism.save` writes it.

    Raises
    ------
    UnreadableFile
        If the file is not a mechanism, or of a newer version; ``Altered`` if it was damaged or changed.
    NotPrivate
        If its numbers do not prove the privacy it claims.

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
    """Return the mechanism in a file, rebuilt and checked as by :func:`load`; errors call the file ``name``."""
    return rebuild(read_json(text, name, _hint_of_matrix(name)), name)


def _hint_of_matrix(name: str) -> str:
    """Return the advice for a user who gives a matrix instead of a mechanism."""
    if not name.lower().endswith((".csv", ".tsv", ".txt")):
        return f"A mechanism file is written by {call('m.save(path)', 'discreet design -o FILE')}."
    return "If it is a matrix, make a mechanism of it in Python: dc.from_matrix(matrix).save('m.json')"


def rebuild(content: object, path: str) -> Mechanism:
    """Return the mechanism from :meth:`Mechanism.to_json`, proved again; errors call it ``path``."""
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
    closed_form = CLOSED_FORMS.get(family)
    if closed_form is not None and closed_form.saved:
        parameters = content["parameters"]
        mechanism = rebuild_saved(closed_form, parameters)
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
    claim = content["certificate"]
    delta = claimed(float(claim["delta"]))
    epsilon = claimed(float(claim["epsilon"])) if delta else None
    _refuse_misfit(kernel, outputs)
    proof = certify(kernel, inputs, claim["notion"], epsilon=epsilon, delta=delta)
    certificate = Certificate(
        proof.notion,
        float(claim["epsilon"]) if delta else proof.epsilon,  # just proved for these numbers
        float(claim["delta"]),
        proof.ratio,
        proof.how,  # from the judge; that of the file is not proved
        proof.tight,
        {name: value for name, value in _figures(claim["details"]).items() if name not in _PROVED_ONLY},
    )
    return Mechanism(inputs, outputs, kernel, certificate, str(family), _figures(content["parameters"], inputs))


#: Figures that only a closed form has, with a proof; those of a file are ignored.
_PROVED_ONLY = ("zcdp_rho",)


def _figures(figures: dict[str, Any], inputs: Space | None = None) -> dict[str, Any]:
    """Return the further figures of a file: plain values only, and no text that could imitate a message.

    The range that a mechanism was moved to is kept if it is that of its inputs.
    """
    return {
        name: value
        for name, value in figures.items()
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
    """Refuse outputs that are not the reports of the kernel; the judge does the same for truths."""
    if not kernel.reports_fill(outputs.size, outputs.ends):
        raise Altered(f"the outputs {outputs!r} are not the reports of the kernel in the file.")


def _compare(mechanism: Mechanism, content: dict[str, Any], path: str | Path) -> None:
    """Refuse a file that claims more than its numbers prove, or that describes another mechanism."""
    claim, proof = content["certificate"], mechanism.certificate
    unknown = sorted({*content} ^ {*mechanism.to_json()}) or sorted({*claim} ^ {*proof.to_json()})
    if unknown:
        raise Altered(f"{path}: the field {str(unknown[0])[:40]!r} is missing, or no mechanism file has it.")
    for name, space in (("inputs", mechanism.inputs), ("outputs", mechanism.outputs)):
        if content[name] != space.to_json():
            raise Altered(f"{path}: its {name} are not those of the mechanism it describes.")
    epsilon = math.inf if claim["epsilon"] == "infinity" else float(claim["epsilon"])
    ratio = None if claim["ratio"] is None else Fraction(claim["ratio"])
    holds = claim["notion"] == proof.notion and epsilon >= proof.epsilon and float(claim["delta"]) >= proof.delta
    if not holds or (ratio is not None and proof.ratio is not None and ratio < proof.ratio):
        raise NotPrivate(
            f"{path} claims {claim['notion']} epsilon = {claim['epsilon']}, delta = {claim['delta']}, but its "
            f"numbers prove {proof}. The file is damaged or was altered."
        )


def _check_properties(mechanism: Mechanism, path: str | Path) -> None:
    """Refuse a designed mechanism whose numbers do not have the properties it was designed for."""
    codes = mechanism.parameters.get("properties") if mechanism.family == "designed" else None
    if not codes or (mechanism.inputs.size or 0) ** 2 > MAX_TABLE_ENTRIES:  # larger ones are closed forms
        return
    for code, result in check(mechanism, codes).items():
        if not result.holds:
            raise Altered(f"{path} claims the property {code}, which its numbers do not have: {result.where}.")


def _check_design(mechanism: Mechanism, path: str | Path) -> None:
    """Refuse a design whose numbers contradict its largest count, its privacy or its cost."""
    if mechanism.family != "designed":
        return
    parameters, details, ratio = mechanism.parameters, mechanism.certificate.details, mechanism.certificate.ratio
    if type(parameters.get("n")) is not int or parameters["n"] != (mechanism.inputs.size or 0) - 1:
        raise Altered(f"{path} states n = {parameters.get('n')}, but its counts end elsewhere.")
    if ratio is not None and Fraction(str(parameters["alpha"])) * ratio > 1:
        raise Altered(f"{path} states alpha = {parameters['alpha']}, and its numbers do not have it.")
    costs = [float(Fraction(str(details[name]))) for name in ("cost", "cost_about") if name in details]
    if details.get("least", 0.0) > min(costs, default=math.inf) * (1 + 1e-12) + 1e-12:
        raise Altered(f"{path} states {details['least']} as the least cost, but its own cost is lower.")
    if _has_known_cost(mechanism):
        recomputed = utility.cost(mechanism, str(parameters["loss"]), worst_case=parameters["prior"] == "worst case")
        if not all(math.isclose(recomputed, cost, rel_tol=1e-9, abs_tol=1e-12) for cost in costs):
            raise Altered(f"{path} states a cost that is not that of its numbers.")


def _has_known_cost(mechanism: Mechanism) -> bool:
    """Return whether the cost of a design can be computed from its file, which does not hold a user's prior."""
    parameters, size = mechanism.parameters, mechanism.inputs.size or 0
    if parameters.get("prior") not in ("uniform", "worst case") or size**2 > MAX_TABLE_ENTRIES:
        return False
    return bool(re.fullmatch(r"L[0-9_]+", str(parameters.get("loss"))))


def _unproved(mechanism: Mechanism, content: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """Return the names of the values in a file with a kernel that were not proved again.

    A proof that no mechanism costs less needs a linear program. The parts of the certificate (``how``, ``tight``,
    ``ratio``) are compared with the proof made when the file was read.
    """
    checked = {"on"}
    if mechanism.family == "designed":
        checked |= {"n", "properties"} | (
            {"loss", "prior", "cost", "cost_about"} if _has_known_cost(mechanism) else set()
        )
    names = ("family", *mechanism.parameters, *mechanism.certificate.details)
    of_proof = [
        name for name in _differing(content["certificate"], mechanism.certificate.to_json()) if name != "details"
    ]
    return tuple(dict.fromkeys((*(name for name in names if name not in checked), *of_proof)))


def _restated(mechanism: Mechanism, content: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """Return the names of values in the file of a closed form that differ from those of the rebuilt mechanism."""
    names: list[str] = []
    for part in ("parameters", "certificate"):
        rebuilt = mechanism.to_json()[part]
        assert isinstance(rebuilt, dict)
        names += _differing(content[part], rebuilt)
    return tuple(names)


def _differing(claimed: Mapping[str, object], proof: Mapping[str, object]) -> list[str]:
    """Return the names of values that differ, compared as JSON text."""
    return [
        name
        for name in {**claimed, **proof}
        if json.dumps(claimed.get(name), sort_keys=True) != json.dumps(proof.get(name), sort_keys=True)
    ]


# ------------------------------------------------------------------------------------------------ matrices


def read_csv(path: str | Path) -> tuple[Table, tuple[str, ...]]:
    """Read a matrix of probabilities exactly from a text file: a line for each truth, a column for each report.

    See :func:`discreet.matrix_text.matrix_from_text` for the format.

    Returns
    -------
    table, notes
        The exact table, and notes about it: a heading left out, normalised rows.
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
    """Read any file that can be judged: a mechanism, a matrix (text or .npy) or a p-table, recognised by its content.

    Returns
    -------
    subject, notes
        The mechanism, the exact table or the p-table, and notes about it.
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
    """Return the same from bytes, such as those of standard input; errors call the file ``name``."""
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
        return False  # the next reader reports the problem


# ------------------------------------------------------------------------------------------------ other programs' files


def _read_npy(file: Path) -> tuple[Table, tuple[str, ...]]:
    """Read a matrix in a NumPy file. Python objects in it, which can run code, are not read."""
    try:
        # mapped, because a few bytes can state terabytes: memory is used only for the size of the file
        return read_matrix(np.load(file, mmap_mode="r", allow_pickle=False))
    except InvalidInput as problem:
        raise UnreadableFile.because(str(file), problem) from None
    except (OSError, ValueError, EOFError):
        raise UnreadableFile(
            f"{file} is not an array of numbers.", f"Save the matrix by itself: np.save({file.name!r}, matrix)"
        ) from None


_AS_CSV = "Save the sheet as CSV, and give that: {csv}"
_AS_TEXT = "Save the matrix as text: np.savetxt({csv!r}, matrix, fmt='%s', delimiter=',')"

#: The first bytes of the files of other programs, their kinds, and the advice for each.
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

#: Uncompressed bytes in zip archives, mostly names of files, with the kind of such an archive and the advice.
_ZIPPED = (
    (b"[Content_Types].xml", ("is an Excel file.", _AS_CSV)),
    (b"opendocument.spreadsheet", ("is a spreadsheet.", _AS_CSV)),
    (b"SHA256SUMS", _BUNDLE),
)


def refuse_foreign(data: bytes, name: str) -> None:
    """Refuse a file of another program by its first bytes, with advice.

    Parameters
    ----------
    data
        The content of the file.
    name
        Its name in errors.
    """
    csv_name = str(Path(name).with_suffix(".csv").name) if name.strip("-") else "matrix.csv"
    kind = next(((what, advice) for begin, what, advice in _FOREIGN if data.startswith(begin)), None)
    if data.startswith(b"PK\x03\x04"):
        kind = _zipped(data)
    if kind is not None:
        what, advice = kind
        raise UnreadableFile(f"{name} {what}", advice.format(csv=csv_name, name=name))


def _zipped(data: bytes) -> tuple[str, str]:
    """Return the kind of a zip archive, and the advice for it."""
    if b".npy" in data[:100]:
        return _ARRAYS
    return next((kind for mark, kind in _ZIPPED if mark in data), _ARCHIVE)
