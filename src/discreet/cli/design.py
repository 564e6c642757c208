"""Verbs that make mechanisms: design, compare, calibrate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import Json, print_json, print_table, say

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Alpha = Annotated[str | None, typer.Option(help="e^-epsilon, exactly: 10/11 or 0.9.")]
Epsilon = Annotated[str | None, typer.Option(help="The privacy: smaller protects more.")]


def _families() -> dict[str, Any]:
    """What can be designed by name, and which options it takes."""
    from ..mechanisms import fair, gaussian, geometric, laplace, planar, practice, response

    return {
        "geometric": (geometric.geometric, ("n", "privacy")),
        "two-sided-geometric": (geometric.two_sided_geometric, ("privacy",)),
        "explicit-fair": (fair.explicit_fair, ("n", "privacy")),
        "randomized-response": (response.randomized_response, ("space", "privacy")),
        "uniform": (response.uniform, ("n",)),
        "rounded-laplace": (laplace.rounded_laplace, ("n", "epsilon")),
        "discrete-gaussian": (gaussian.discrete_gaussian, ("sigma2",)),
        "planar-geometric": (planar.planar_geometric, ("grid", "epsilon", "border")),
        "planar-laplace": (planar.planar_laplace, ("grid", "epsilon", "border")),
        "random-rounding": (practice.random_rounding, ("n", "base")),
        "suppression": (practice.suppression, ("n", "below")),
    }


def design(
    family: Annotated[str, typer.Option(help="Which closed form; `--family list` lists them.")],
    n: Annotated[int | None, typer.Option("-n", "--largest", help="The largest count.")] = None,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    labels: Annotated[str | None, typer.Option(help="For randomized-response: the answers, comma separated.")] = None,
    grid: Annotated[str | None, typer.Option(help="For planar families: ROWSxCOLSxCELL, such as 30x30x150.")] = None,
    border: Annotated[str, typer.Option(help="For planar families: remap or normalise.")] = "remap",
    sigma2: Annotated[str | None, typer.Option(help="For discrete-gaussian: its parameter.")] = None,
    base: Annotated[int, typer.Option(help="For random-rounding: the base.")] = 3,
    below: Annotated[int, typer.Option(help="For suppression: counts below this are suppressed.")] = 5,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to save it (.json).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it: a heat map as .png, .svg or .html.")] = None,
    json: Json = False,
) -> None:
    """Make a mechanism by name, have it proved, and save it.

    Examples: `discreet design --family explicit-fair -n 8 --alpha 10/11 -o m.json` ·
    `discreet design --family planar-geometric --grid 30x30x150 --epsilon 0.004 -o map.json`
    """
    from ..errors import InvalidInput

    families = _families()
    if family == "list":
        for name in families:
            say(name)
        return
    if family not in families:
        raise InvalidInput(f"{family!r} is not a family; the families are {', '.join(families)}.")
    build, takes = families[family]
    given = {
        "n": n, "alpha": alpha, "epsilon": epsilon, "labels": labels, "grid": grid, "border": border,
        "sigma2": sigma2, "base": base, "below": below,
    }  # fmt: skip
    mechanism = _build(family, build, takes, given)
    if output is not None:
        mechanism.save(output)
    if plot is not None:
        from ..plots import heatmap

        heatmap(mechanism).save(plot)
    if json:
        content = {"family": mechanism.family, "parameters": dict(mechanism.parameters)}
        print_json({**content, "certificate": mechanism.certificate.describe()})
        return
    say(f"{mechanism!r}")
    say(f"proved    {mechanism.certificate}")
    if output is not None:
        say(f"saved     {output} (discreet verify {output})")
    if plot is not None:
        say(f"drawn     {plot}")


def _build(family: str, build: Any, takes: tuple[str, ...], given: dict[str, Any]) -> Mechanism:
    from ..errors import InvalidInput

    positional: list[Any] = []
    options: dict[str, Any] = {}
    for name in takes:
        if name == "privacy":
            options.update(alpha=given["alpha"], epsilon=given["epsilon"])
        elif name == "space":
            positional.append(_space(family, given))
        elif name == "grid":
            positional.append(_grid(given["grid"]))
        elif given[name] is None:
            raise InvalidInput(f"{family} needs {'-n' if name == 'n' else '--' + name}.")
        elif name == "n":
            positional.append(given["n"])
        else:
            options[name] = given[name]
    if "alpha" not in options and given["alpha"] is not None and "privacy" not in takes:
        raise InvalidInput(f"{family} does not take --alpha{'; give --epsilon' if 'epsilon' in takes else ''}.")
    mechanism: Mechanism = build(*positional, **options)
    return mechanism


def _space(family: str, given: dict[str, Any]) -> Any:
    from ..errors import InvalidInput
    from ..spaces import Counts, Labels

    if given["labels"] is not None:
        return Labels([label.strip() for label in given["labels"].split(",")])
    if given["grid"] is not None:
        return _grid(given["grid"])
    if given["n"] is not None:
        return Counts(given["n"])
    raise InvalidInput(f"{family} needs -n (counts), --labels or --grid.")


def _grid(text: str | None) -> Any:
    from ..errors import InvalidInput
    from ..exact.rationals import as_fraction
    from ..spaces import Grid

    match = re.fullmatch(r"(\d+)x(\d+)x([\d./]+)", text or "")
    if match is None:
        raise InvalidInput(f"--grid is ROWSxCOLSxCELL, such as 30x30x150; got {text!r}.")
    return Grid(int(match[1]), int(match[2]), as_fraction(match[3], "cell"))  # type: ignore[arg-type]


def compare(
    n: Annotated[int, typer.Option("-n", "--largest", help="The largest count.")],
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    families: Annotated[str | None, typer.Option(help="Short names, comma separated, such as GM,EM.")] = None,
    loss: Annotated[str, typer.Option(help="Losses, comma separated: L0,L1,L2,L0_1 (beyond 1), L3 ...")] = "L0,L1,L2",
    report: Annotated[Path | None, typer.Option(help="Write a report with charts: .html or .png.")] = None,
    json: Json = False,
) -> None:
    """Put mechanisms side by side: costs, properties, error by true count, tight epsilon.

    Examples: `discreet compare -n 8 --alpha 10/11` · `discreet compare -n 20 --epsilon 0.5 --report compare.html`
    """
    from ..comparison import TITLES
    from ..comparison import compare as put

    names = None if families is None else [name.strip() for name in families.split(",")]
    comparison = put(n, alpha=alpha, epsilon=epsilon, families=names, loss=[one.strip() for one in loss.split(",")])
    if report is not None:
        comparison.save(report)
    if json:
        print_json(comparison.describe())
        return
    say(f"counts 0..{comparison.n}, {comparison.asked}")
    headings, cells = comparison.table()
    print_table(headings, cells, numbers=range(1, len(headings) - 1))
    say()
    headings, cells = comparison.worst_table()
    print_table(headings, cells, numbers=range(1, len(headings)))
    say()
    say(", ".join(f"{row.name}: {TITLES.get(row.name, row.title)}" for row in comparison.rows))
    if report is not None:
        say(f"report    {report}")


def calibrate(
    family: Annotated[str, typer.Option(help="geometric, explicit-fair, randomized-response, planar-geometric, ...")],
    n: Annotated[int | None, typer.Option("-n", "--largest", help="The largest count.")] = None,
    grid: Annotated[str | None, typer.Option(help="For planar families: ROWSxCOLSxCELL, such as 30x30x150.")] = None,
    distance: Annotated[str | None, typer.Option(help="Mean distance between truth and report at most this.")] = None,
    truth: Annotated[str | None, typer.Option(help="Probability of reporting the truth at least this.")] = None,
    mean_error: Annotated[str | None, typer.Option(help="Mean absolute error at most this.")] = None,
    within: Annotated[str | None, typer.Option(help="D:P, within D of the truth with probability at least P.")] = None,
    ratio: Annotated[str | None, typer.Option(help="R:D, likelihood ratio at most R within distance D.")] = None,
    border: Annotated[str | None, typer.Option(help="For planar families: remap or normalise.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to save the mechanism (.json).")] = None,
    json: Json = False,
) -> None:
    """Find the epsilon that meets a wish: an error, a probability of truth, a likelihood ratio.

    Examples: `discreet calibrate --family geometric -n 100 --within 2:0.9` ·
    `discreet calibrate --family planar-geometric --grid 30x30x150 --distance 450`
    """
    from ..errors import InvalidInput
    from ..optimise.calibration import calibrate as find
    from ..spaces import Counts

    if (n is None) == (grid is None):
        raise InvalidInput("give either -n (counts 0..n) or --grid (a map).")
    space = _grid(grid) if n is None else Counts(n)
    wishes: dict[str, Any] = {"distance": distance, "truth": truth, "mean_error": mean_error}
    if within is not None:
        wishes["within"] = _pair(within, "--within", "D:P, such as 2:0.9")
    if ratio is not None:
        wishes["likelihood_ratio"], wishes["within"] = _pair(ratio, "--ratio", "R:D, such as 2:10")
    options: dict[str, Any] = {"border": border} if grid is not None and border is not None else {}
    found = find(family.replace("-", "_"), space, **{k: v for k, v in wishes.items() if v is not None}, **options)
    if output is not None:
        found.mechanism.save(output)
    if json:
        print_json(found.describe())
        return
    say(str(found))
    if output is not None:
        say(f"saved     {output} (discreet verify {output})")


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    from ..errors import InvalidInput

    first, colon, second = text.partition(":")
    if not (first and colon and second):
        raise InvalidInput(f"{option} is {form}; got {text!r}.")
    return first, second
