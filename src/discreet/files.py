"""Saving and loading mechanisms: one JSON format, versioned, exact.

A closed form is kept as its exact parameters, everything else as its exact integers. Loading rebuilds the mechanism,
has the judge look at it again, and refuses a file whose numbers do not prove what it claims. A digest finds damage that
leaves a weaker claim true; it is no signature, and the judge does not rely on it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from .errors import DiscreetError, NotPrivate, UnreadableFile
from .exact.kernels import Kernel, Noise, Response, kernel_from
from .exact.tables import Table
from .mechanism import Mechanism
from .mechanisms.fair import explicit_fair
from .mechanisms.gaussian import discrete_gaussian
from .mechanisms.geometric import geometric, two_sided_geometric
from .mechanisms.laplace import rounded_laplace
from .mechanisms.planar import planar_geometric, planar_laplace
from .mechanisms.response import randomized_response, uniform
from .privacy.certificate import Certificate, certify
from .spaces import Counts, Grid, Integers, Space, space_from

FORMAT = "discreet mechanism"
VERSION = 1

#: How to rebuild each closed form from its parameters; what is not here is kept as exact integers.
_REBUILD: dict[str, Callable[[dict[str, Any]], Mechanism]] = {
    "geometric": lambda p: geometric(p["n"], alpha=p["alpha"]),
    "two_sided_geometric": lambda p: two_sided_geometric(alpha=p["alpha"]),
    "explicit_fair": lambda p: explicit_fair(p["n"], alpha=p["alpha"]),
    "rounded_laplace": lambda p: rounded_laplace(p["n"], epsilon=p["epsilon"]),
    "discrete_gaussian": lambda p: discrete_gaussian(sigma2=p["sigma2"]),
    "randomized_response": lambda p: randomized_response(space_from(p["space"]), alpha=p["alpha"]),
    "uniform": lambda p: uniform(p["n"]),
    "planar_geometric": lambda p: planar_geometric(_grid(p), epsilon=p["epsilon"], border=p["border"]),
    "planar_laplace": lambda p: planar_laplace(_grid(p), epsilon=p["epsilon"], border=p["border"]),
}


def _grid(parameters: dict[str, Any]) -> Grid:
    grid = space_from(parameters["grid"])
    assert isinstance(grid, Grid)
    return grid


def save(mechanism: Mechanism, path: str | Path) -> None:
    """Write a mechanism to a JSON file."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "family": mechanism.family,
        "inputs": mechanism.inputs.describe(),
        "outputs": mechanism.outputs.describe(),
        "certificate": mechanism.certificate.describe(),
    }
    if mechanism.family in _REBUILD:
        content["parameters"] = dict(mechanism.parameters)
    else:
        content["kernel"] = mechanism.kernel.describe()
    content["sha256"] = _digest(content)
    Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _digest(content: dict[str, Any]) -> str:
    """A fingerprint of everything else in the file, whatever its layout."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def load(path: str | Path) -> Mechanism:
    """Read a mechanism from a file, rebuild it, and have the judge check its claim.

    Raises
    ------
    UnreadableFile
        When the file is not a mechanism, or of a newer version.
    NotPrivate
        When its numbers do not prove the privacy it claims.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise UnreadableFile(f"cannot read {path}: {problem.strerror or problem}.") from None
    except (UnicodeDecodeError, ValueError):
        raise UnreadableFile(f"{path} is not JSON. A mechanism file is written by m.save(path).") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UnreadableFile(f"{path} is not a mechanism file (its 'format' is not {FORMAT!r}).")
    if content.get("version") != VERSION:
        raise UnreadableFile(
            f"{path} has version {content.get('version')!r}; this program reads version {VERSION}. Upgrade discreet."
        )
    if content.get("sha256") != _digest(content):
        raise UnreadableFile(f"{path} is damaged or was altered: its 'sha256' is not that of its content.")
    try:
        mechanism = _rebuild(content)
        _compare(mechanism, content, path)
    except DiscreetError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AssertionError, ZeroDivisionError, AttributeError) as problem:
        raise UnreadableFile(f"{path} is damaged: {type(problem).__name__} at {problem}.") from None
    return mechanism


def _rebuild(content: dict[str, Any]) -> Mechanism:
    family = content["family"]
    if family in _REBUILD:
        parameters = content["parameters"]
        mechanism = _REBUILD[family](parameters)
        if "on" in parameters:
            space = space_from(parameters["on"])
            assert isinstance(space, Counts | Integers)
            mechanism = mechanism.on(space, clamp=parameters["clamp"])
        return mechanism
    inputs, outputs = space_from(content["inputs"]), space_from(content["outputs"])
    kernel = kernel_from(content["kernel"])
    stated = content["certificate"]
    delta = Fraction(stated["delta"])  # the doubles themselves: they were rounded up, and must come out the same
    epsilon = Fraction(stated["epsilon"]) if delta else None
    _refuse_misfit(kernel, outputs)
    proved = certify(kernel, inputs, stated["notion"], epsilon=epsilon, delta=delta)
    certificate = Certificate(
        proved.notion,
        proved.epsilon,
        proved.delta,
        proved.ratio,
        str(stated["how"]),
        proved.tight,
        dict(stated["details"]),
    )
    return Mechanism(inputs, outputs, kernel, certificate, str(family))


def _refuse_misfit(kernel: Kernel, outputs: Space) -> None:
    """Refuse reports that are not the kernel's; the judge does the same for truths."""
    if isinstance(kernel, Noise):
        expected: object = (0, outputs.n) if isinstance(outputs, Counts) else (getattr(outputs, "low", ()), None)
        fits = kernel.clamp == expected
    elif isinstance(kernel, Table):
        fits = kernel.shape[1] == outputs.size
    elif isinstance(kernel, Response):
        fits = kernel.size == outputs.size
    else:
        fits = True
    if not fits:
        raise UnreadableFile(f"the outputs {outputs!r} are not the reports of the kernel in the file.")


def _compare(mechanism: Mechanism, content: dict[str, Any], path: str | Path) -> None:
    """Refuse a file that claims more than its numbers prove, or describes another mechanism than it holds."""
    stated, proved = content["certificate"], mechanism.certificate
    for name, space in (("inputs", mechanism.inputs), ("outputs", mechanism.outputs)):
        if content[name] != space.describe():
            raise UnreadableFile(f"{path}: its {name} are not those of the mechanism it describes.")
    epsilon = math.inf if stated["epsilon"] == "infinity" else float(stated["epsilon"])
    ratio = None if stated["ratio"] is None else Fraction(stated["ratio"])
    holds = stated["notion"] == proved.notion and epsilon >= proved.epsilon and float(stated["delta"]) >= proved.delta
    if not holds or (ratio is not None and proved.ratio is not None and ratio < proved.ratio):
        raise NotPrivate(
            f"{path} claims {stated['notion']} epsilon = {stated['epsilon']}, delta = {stated['delta']}, but its "
            f"numbers prove {proved}. The file is damaged or was altered."
        )
