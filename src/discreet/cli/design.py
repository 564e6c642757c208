"""The verbs design, compare and calibrate."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..mechanisms.families import Family, Parameter, Use
from ..optimise.families import FAMILIES
from ..spaces.text import GRID_NOTATION
from .output import Json, Page, hand_over, refuse_unwritable, say, waiting

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..spaces import Space

Alpha = Annotated[str | None, typer.Option(help="e^-epsilon, exactly: 10/11 or 0.9.")]
Epsilon = Annotated[str | None, typer.Option(help="The privacy: smaller protects more.")]


#: Argument of a family -> its options, and True if one is required.
_OPTIONS_OF_ARGUMENT: dict[Parameter, tuple[tuple[str, ...], bool]] = {
    "n": (("n",), True),
    "privacy": (("alpha", "epsilon"), True),
    "epsilon": (("epsilon",), True),
    "space": (("n", "labels", "grid", "space"), True),
    "grid": (("grid",), True),
    "sigma2": (("sigma2",), True),
    "border": (("border",), False),
    "reach": (("reach",), True),
    "noise": (("stay", "variance", "delta", "js", "kind"), False),
    "base": (("base",), False),
    "below": (("below",), False),
    "q": (("q",), False),
}


#: A space with any distance.
SpaceFile = Annotated[
    str | None,
    typer.Option(help="A file of a metric space: .json (a description), or .csv (a matrix of distances, or edges)."),
]


def _names(use: Use) -> str:
    """Return the families offered for a use, for a help text."""
    return ", ".join(FAMILIES.cli_names(use))


def _short_names() -> str:
    """Return the short names of families that are compared, for a help text."""
    return ", ".join(family.short for family in FAMILIES.offered("compare"))


def _for(option: str) -> str:
    """Return the families that take an option, for its help text."""
    names = [
        family.cli_name
        for family in FAMILIES.offered("design")
        if any(option in _OPTIONS_OF_ARGUMENT[parameter][0] for parameter in family.parameters)
    ]
    return ", ".join(names)


def design(
    family: Annotated[
        str | None, typer.Option(help=f"A family by name (`list` lists them): {_names('design')}.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", "--largest", help="The largest count.")] = None,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    loss: Annotated[str | None, typer.Option(help="What to minimise: L0 (default), L1, L2, L0_1, L3 ...")] = None,
    properties: Annotated[
        str | None,
        typer.Option(help="Required properties, comma separated: S RH RM CH CM F WH, bias<=0, mse<=4, support<=3 ..."),
    ] = None,
    delta: Annotated[str | None, typer.Option(help="0 (default) for pure privacy.")] = None,
    prior: Annotated[
        str | None, typer.Option(help="The prior of the counts: uniform, triangular, binomial, or a file of numbers.")
    ] = None,
    worst_case: Annotated[bool, typer.Option("--worst-case", help="Minimise the loss of the worst count.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Explain why, and what each property costs.")] = False,
    labels: Annotated[
        str | None,
        typer.Option(help=f"For {_for('labels')}: the answers, comma separated, or @FILE with one on each line."),
    ] = None,
    grid: Annotated[str | None, typer.Option(help=f"For {_for('grid')}: {GRID_NOTATION}.")] = None,
    space: SpaceFile = None,
    notion: Annotated[
        str | None, typer.Option(help="For designs: central (adjacent values), local (any two) or metric.")
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(help="For designs: the true values that may be reported, comma separated, or @FILE of lines."),
    ] = None,
    dilation: Annotated[
        str | None, typer.Option(help="For designs on many values: how much longer paths of the spanner may be, 1.1.")
    ] = None,
    border: Annotated[str | None, typer.Option(help=f"For {_for('border')}: remap (default) or normalise.")] = None,
    ptable: Annotated[bool, typer.Option("--ptable", help="Design a p-table instead of a mechanism.")] = False,
    reach: Annotated[int | None, typer.Option(help=f"For --ptable and {_for('reach')}: the largest error D.")] = None,
    stay: Annotated[str | None, typer.Option(help="For them: probability of the truth (a table: at least).")] = None,
    variance: Annotated[str | None, typer.Option(help="For them: mean square error at most this, V.")] = None,
    js: Annotated[int | None, typer.Option(help="For them: counts 1..js are never published.")] = None,
    kind: Annotated[str | None, typer.Option(help=f"For {_for('kind')}: all-counts, optimal or sadeghi.")] = None,
    keys: Annotated[int | None, typer.Option(help="For --ptable: the number of keys, 65536 by default.")] = None,
    layout: Annotated[str | None, typer.Option(help="For --ptable: ptable, sas, cellkey, ons, superstar.")] = None,
    sigma2: Annotated[str | None, typer.Option(help=f"For {_for('sigma2')}: its parameter.")] = None,
    base: Annotated[int | None, typer.Option(help=f"For {_for('base')}: the base, 3 by default.")] = None,
    below: Annotated[int | None, typer.Option(help=f"For {_for('below')}: counts below this are suppressed.")] = None,
    q: Annotated[int | None, typer.Option(help=f"For {_for('q')}: the prime; the best one by default.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to save it (.json; a table .csv).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it: a heat map as .png, .svg, .pdf or .html.")] = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Find the best mechanism with the required properties, or make one by name; prove it and save it.

    Examples: `discreet design -n 20 --alpha 10/11 --loss L1 --properties WH,CM -o m.json` ·
    `discreet design -n 20 --alpha 10/11 --properties WH,CM --explain` ·
    `discreet design --family planar-geometric --grid 30x30x150 --epsilon 0.004 -o map.json` ·
    `discreet design --ptable --reach 5 --stay 0.5 --epsilon 2 --keys 256 -o table.csv`
    """
    from ..errors import InvalidInput

    refuse_unwritable(page, (".html",), "a page")
    targets = {
        "loss": loss, "properties": properties, "delta": delta, "prior": prior, "notion": notion, "outputs": outputs,
        "dilation": dilation,
    }  # fmt: skip
    family_options = {
        "labels": labels, "grid": grid, "border": border, "reach": reach, "stay": stay, "variance": variance, "js": js,
        "kind": kind, "keys": keys, "sigma2": sigma2, "base": base, "below": below,
        "q": q, "space": space,
    }  # fmt: skip
    if ptable:
        if family is not None or plot is not None:
            raise InvalidInput("--ptable takes neither --family nor --plot.", argument="ptable")
        _refuse_design_options(targets, worst_case, explain, "A p-table has its own: --reach, --stay, --variance, --js")
        _design_table({"n": n, "alpha": alpha, "epsilon": epsilon, **family_options}, output, layout, page, json)
        return
    if layout is not None:
        raise InvalidInput("--layout goes with --ptable.", argument="layout")
    _refuse_files(output, plot)
    choice = None
    if family is None:
        spaces = ("labels", "grid", "space")
        stray = next((name for name, value in family_options.items() if value is not None and name not in spaces), None)
        if stray is not None:
            raise InvalidInput(f"{_flag(stray)} goes with a --family.", "`--family list` lists them.", argument=stray)
        if n is None and all(family_options[option] is None for option in spaces):
            raise InvalidInput("give the largest count with -n, or a --family.", argument="n")
        from ..optimise.improve.priors import read_named_prior

        truths = space_of(n, labels, grid, space)
        options: dict[str, Any] = {
            "alpha": alpha, "epsilon": epsilon, "delta": delta or 0, "loss": loss or "L0",
            "properties": properties or (),
            "prior": None if prior is None else read_named_prior(prior, (truths.size or 1) - 1),
            "worst_case": worst_case,
        }  # fmt: skip
        if explain and (n is None or outputs is not None):
            raise InvalidInput("--explain is for designs of counts, with -n and all outputs.", argument="explain")
        from ..spaces.text import read_values

        chosen = None if outputs is None else read_values(outputs, truths, "outputs")
        with waiting("looking for the best mechanism"):
            if explain:
                from ..optimise.design.chooser import choose

                choice = choose(truths, **options)
                mechanism = choice.mechanism
            else:
                from ..optimise.design.design import design as find

                mechanism = find(truths, notion=notion, outputs=chosen, dilation=dilation, **options)
    else:
        del targets["delta"]  # some families take a delta
        _refuse_design_options(targets, worst_case, explain, "A --family is not designed: leave one of the two out")
        if family.strip().lower() == "list":
            _list("design")
            return
        values = {"n": n, "alpha": alpha, "epsilon": epsilon, "delta": delta, **family_options}
        mechanism = _build(FAMILIES.find(family, "design", "a family"), values)
    if output is not None:
        mechanism.save(output)
    if plot is not None:
        from ..plots import heatmap

        heatmap(mechanism).save(plot)
    from ..optimise.design.report import Design

    hand_over(Design(mechanism, choice), page, json)
    if json:
        return
    if output is not None:
        say(f"saved     {output} (discreet verify {output})")
    if plot is not None:
        say(f"drawn     {plot}")


def _design_table(
    given: dict[str, Any], output: Path | None, layout: str | None, page: Path | None, json: bool
) -> None:
    """Design a p-table, prove it on its keys, and write it."""
    from ..errors import InvalidInput
    from ..optimise.noise.ptable import DesignedTable, design_ptable
    from ..ptables.write import read_layout

    allowed_options = ("epsilon", "reach", "variance", "js", "stay", "keys")
    for option, value in given.items():
        if value is not None and option not in allowed_options:
            raise InvalidInput(
                f"--ptable does not take {_flag(option)}; it takes {', '.join(map(_flag, allowed_options))}.",
                argument=option,
            )
    for required in ("epsilon", "reach"):
        if given[required] is None:
            raise InvalidInput(f"--ptable needs --{required}.", argument=required)
    if output is None and layout is not None:
        raise InvalidInput("--layout is the format of the table, and goes with -o FILE.", argument="layout")
    if output is not None:
        refuse_unwritable(output, (), "a p-table")
        read_layout(output, layout)
    options = {name: given[name] for name in ("variance", "js", "stay", "keys") if given[name] is not None}
    if sys.stderr.isatty():
        options["progress"] = lambda words: print(f"searching {words} ...", file=sys.stderr)
    table = design_ptable(given["epsilon"], given["reach"], **options)
    if output is not None:
        table.write(output, layout)
    hand_over(DesignedTable(table), page, json)
    if output is not None and not json:
        say(f"saved     {output}, with the rest of its claim in {output}.json (discreet verify {output})")


def _refuse_design_options(targets: dict[str, Any], worst_case: bool, explain: bool, instead: str) -> None:
    """Refuse options that only a design takes."""
    from ..errors import InvalidInput

    stray = next((option for option, value in targets.items() if value is not None), None)
    stray = "worst-case" if worst_case else "explain" if explain else stray
    if stray is not None:
        raise InvalidInput(f"--{stray} is for designs.", f"{instead}.", argument=stray.replace("-", "_"))


def _list(use: Use) -> None:
    """Print the names of the families offered for a use."""
    for name in FAMILIES.cli_names(use):
        say(name)


def _flag(option: str) -> str:
    return "-n" if option == "n" else f"--{option}"


def _build(family: Family, values: dict[str, Any]) -> Mechanism:
    """Call the family with its options; refuse options that it does not take."""
    from ..errors import InvalidInput

    if values["space"] is not None and family.name == "geometric":
        family = FAMILIES["metric_geometric"]
    allowed = {option for name in family.parameters for option in _OPTIONS_OF_ARGUMENT[name][0]}
    for option, value in values.items():
        if value is not None and option not in allowed:
            raise InvalidInput(
                f"{family.cli_name} does not take {_flag(option)}; it takes {', '.join(map(_flag, sorted(allowed)))}.",
                argument=option,
            )
    positional: list[Any] = []
    options: dict[str, Any] = {}
    for name in family.parameters:
        sources, is_required = _OPTIONS_OF_ARGUMENT[name]
        present = [option for option in sources if values[option] is not None]
        if is_required and len(present) != 1:
            largest = ", the largest count" if sources == ("n",) else ""
            raise InvalidInput(
                f"{family.cli_name} needs "
                f"{'exactly one of ' * (len(sources) > 1)}{', '.join(map(_flag, sources))}{largest}.",
                argument=sources[0],
            )
        if name in ("n", "space", "grid"):
            positional.append(values["n"] if name == "n" else _space(values))
        else:
            options.update({option: _named_choice(option, values[option]) for option in present})
    return family.make(*positional, **options)


def _named_choice(option: str, text: object) -> Any:
    """Return the value of an option; a name in its own spelling."""
    from ..wording import find_name

    if option == "border":
        return find_name(
            text, ("remap", "normalise"), "a treatment of the border", {"normalize": "normalise"}, argument="border"
        )
    if option == "kind":
        return find_name(text, ("all-counts", "optimal", "sadeghi"), "a kind of bounded noise", argument="kind")
    return text


def space_of(n: int | None, labels: str | None, grid: str | None, space: str | None = None) -> Space:
    """Return the true values that the options of a verb describe: exactly one of them."""
    from ..errors import InvalidInput

    values = {"n": n, "labels": labels, "grid": grid, "space": space}
    if sum(value is not None for value in values.values()) != 1:
        raise InvalidInput("give exactly one of -n (counts 0..n), --labels, --grid and --space.", argument="n")
    return _space(values)


def _space(values: dict[str, Any]) -> Space:
    from ..space_files import read_space
    from ..spaces import Counts
    from ..spaces.text import read_grid, read_labels

    if values["space"] is not None:
        return read_space(values["space"])
    if values["labels"] is not None:
        return read_labels(values["labels"])
    return Counts(values["n"]) if values["n"] is not None else read_grid(values["grid"])


PICTURE_ENDINGS = (".png", ".svg", ".pdf", ".html", ".json")

#: Those that need the drawing program.
DRAWN_PICTURES = PICTURE_ENDINGS[:4]


def _refuse_files(output: Path | None, plot: Path | None = None) -> None:
    """Refuse mechanism files without .json, the ending that distinguishes them from matrices."""
    refuse_unwritable(output, (".json",), "a mechanism file")
    refuse_unwritable(plot, PICTURE_ENDINGS, "a picture", DRAWN_PICTURES)


def compare(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Mechanisms (.json) or matrices (.csv, rows are truths) to compare.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", "--largest", help="The largest count; of the files if given.")] = None,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    space: SpaceFile = None,
    families: Annotated[str | None, typer.Option(help=f"Names, comma separated: {_short_names()}.")] = None,
    loss: Annotated[str, typer.Option(help="Losses, comma separated: L0,L1,L2,L0_1 (beyond 1), L3 ...")] = "L0,L1,L2",
    report: Annotated[
        Path | None,
        typer.Option("--report", "-o", "--output", help="Write a page or its charts: .html, .png, .svg or .json."),
    ] = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Compare mechanisms: costs, properties, error by true count, tight epsilon.

    With files, families are added only if a privacy or their names are given too.

    Examples: `discreet compare -n 8 --alpha 10/11` · `discreet compare -n 20 --epsilon 0.5 --report compare.html` ·
    `discreet compare mine.csv other.json` · `discreet compare mine.csv --epsilon 1 --families GM,EM`
    """
    from ..comparison import compare as build_comparison
    from ..errors import InvalidInput

    refuse_unwritable(report, PICTURE_ENDINGS, "a report", DRAWN_PICTURES)
    refuse_unwritable(page, (".html",), "a page")
    if not _items(loss):
        raise InvalidInput("--loss names at least one loss, such as L0,L1,L2; it is empty.", argument="loss")
    if not files and n is None and space is None:
        raise InvalidInput(
            "give the largest count with -n, or files with mechanisms or matrices to compare.", argument="n"
        )
    comparison = build_comparison(
        n if space is None else space_of(n, None, None, space),
        alpha=alpha,
        epsilon=epsilon,
        families=None if families is None else _items(families),
        others=_named_files(files) if files else None,
        loss=_items(loss),
    )
    if report is not None:
        comparison.save(report)
    hand_over(comparison, page, json)
    if report is not None and not json:
        say(f"report    {report}")


def _named_files(files: list[Path]) -> dict[str, Any]:
    """Return files by the stems of their names, or by their paths where two are the same."""
    stems = [file.stem for file in files]
    return {file.stem if stems.count(file.stem) == 1 else str(file): str(file) for file in files}


def _items(text: str) -> list[str]:
    """Return the items of a list with commas or pluses."""
    return [part.strip() for part in re.split("[,;+]", text) if part.strip()]


def calibrate(
    family: Annotated[str, typer.Option(help=f"A family by name: {_names('calibrate')}.")],
    n: Annotated[int | None, typer.Option("-n", "--largest", help="The largest count.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(help=f"For {_for('labels')}: the answers, comma separated, or @FILE with one on each line."),
    ] = None,
    grid: Annotated[str | None, typer.Option(help=f"For {_for('grid')}: {GRID_NOTATION}.")] = None,
    space: SpaceFile = None,
    distance: Annotated[str | None, typer.Option(help="Mean distance between truth and report at most this.")] = None,
    truth: Annotated[str | None, typer.Option(help="Probability of reporting the truth at least this.")] = None,
    mean_error: Annotated[str | None, typer.Option(help="Mean absolute error at most this.")] = None,
    within: Annotated[str | None, typer.Option(help="D:P, within D of the truth with probability at least P.")] = None,
    share_variance: Annotated[
        str | None, typer.Option(help="Variance of an estimated share, times the number of people, at most this.")
    ] = None,
    ratio: Annotated[str | None, typer.Option(help="R:D, likelihood ratio at most R within distance D.")] = None,
    between: Annotated[str | None, typer.Option(help="LOW:HIGH, the range of epsilon to search.")] = None,
    border: Annotated[str | None, typer.Option(help=f"For {_for('border')}: remap or normalise.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to save the mechanism (.json).")] = None,
    page: Page = None,
    json: Json = False,
) -> None:
    """Find the epsilon that meets a target: an error, a probability of truth, a likelihood ratio.

    Examples: `discreet calibrate --family geometric -n 100 --within 2:0.9` ·
    `discreet calibrate --family planar-geometric --grid 30x30x150 --distance 450`
    """
    from ..errors import InvalidInput
    from ..optimise.improve.calibration import calibrate as find
    from ..optimise.improve.calibration import find_family
    from ..wording import listed

    if family.strip().lower() == "list":
        _list("calibrate")
        return
    entry = find_family(family)
    values = space_of(n, labels, grid, space)
    if space is not None and entry.name == "geometric":
        entry = FAMILIES["metric_geometric"]
    spaces = _OPTIONS_OF_ARGUMENT[entry.parameters[0]][0]
    if not any({"n": n, "labels": labels, "grid": grid, "space": space}[option] is not None for option in spaces):
        raise InvalidInput(
            f"{entry.cli_name} needs {listed([_flag(name) for name in spaces], 'or')}.", argument=spaces[0]
        )
    if border is not None and grid is None:
        raise InvalidInput("--border is for planar families, with --grid.", argument="border")
    targets = {
        "distance": distance, "truth": truth, "mean-error": mean_error, "within": within,
        "share-variance": share_variance, "ratio": ratio,
    }  # fmt: skip
    names = [name for name, value in targets.items() if value is not None]
    if len(names) != 1:
        raise InvalidInput(
            f"give exactly one of {', '.join('--' + name for name in targets)}; got {len(names)}.", argument="distance"
        )
    _refuse_files(output)
    refuse_unwritable(page, (".html",), "a page")
    options: dict[str, Any] = {} if border is None else {"border": _named_choice("border", border)}
    if between is not None:
        options["between"] = _pair(between, "--between", "LOW:HIGH, such as 0.1:10")
    if within is not None:
        options["within"] = _pair(within, "--within", "D:P, such as 2:0.9")
    elif ratio is not None:
        options["likelihood_ratio"], options["within"] = _pair(ratio, "--ratio", "R:D, such as 2:10")
    else:
        options[names[0].replace("-", "_")] = targets[names[0]]
    result = find(entry.name, values, **options)
    if output is not None:
        result.mechanism.save(output)
    hand_over(result, page, json)
    if output is not None and not json:
        say(f"saved     {output} (discreet verify {output})")


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    from ..errors import InvalidInput

    first, colon, second = text.partition(":")
    if not (first and colon and second):
        raise InvalidInput.must_be(option, form, text, argument=option.lstrip("-"))
    return first, second
