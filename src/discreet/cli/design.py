"""The verbs design, compare and calibrate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..mechanisms.families import Family, Parameter, Use
from ..optimise.families import FAMILIES
from .output import Json, Page, hand_over, refuse_unwritable, say, waiting

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..spaces import Space

Alpha = Annotated[str | None, typer.Option(help="e^-epsilon, exactly: 10/11 or 0.9.")]
Epsilon = Annotated[str | None, typer.Option(help="The privacy: smaller protects more.")]


#: Argument of a family -> its options, and whether one must be given.
_OPTIONS: dict[Parameter, tuple[tuple[str, ...], bool]] = {
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

#: Notation of a map.
GRIDS = "ROWSxCOLSxCELL in metres, such as 30x30x150, or a box of degrees, SOUTH,WEST,NORTH,EASTxCELL"


def _names(use: Use) -> str:
    """Return the families offered for a use, for a help text."""
    return ", ".join(FAMILIES.written(use))


def _short_names() -> str:
    """Return the short names of families that are compared, for a help text."""
    return ", ".join(family.short for family in FAMILIES.offered("compare"))


def _for(option: str) -> str:
    """Return the families that take an option, for its help text."""
    taking = [
        family.written
        for family in FAMILIES.offered("design")
        if any(option in _OPTIONS[parameter][0] for parameter in family.parameters)
    ]
    return ", ".join(taking)


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
    grid: Annotated[str | None, typer.Option(help=f"For {_for('grid')}: {GRIDS}.")] = None,
    space: SpaceFile = None,
    notion: Annotated[
        str | None, typer.Option(help="For designs: central (adjacent values), local (any two) or metric.")
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
    wishes = {
        "loss": loss, "properties": properties, "delta": delta, "prior": prior, "notion": notion, "dilation": dilation
    }  # fmt: skip
    named = {
        "labels": labels, "grid": grid, "border": border, "reach": reach, "stay": stay, "variance": variance, "js": js,
        "kind": kind, "keys": keys, "sigma2": sigma2, "base": base, "below": below,
        "q": q, "space": space,
    }  # fmt: skip
    if ptable:
        from .ptable import design_table

        if family is not None or plot is not None:
            raise InvalidInput("--ptable takes neither --family nor --plot.", argument="ptable")
        _refuse_wishes(wishes, worst_case, explain, "A p-table has its own: --reach, --stay, --variance, --js")
        design_table({"n": n, "alpha": alpha, "epsilon": epsilon, **named}, output, layout, page, json)
        return
    if layout is not None:
        raise InvalidInput("--layout goes with --ptable.", argument="layout")
    _refuse_files(output, plot)
    choice = None
    if family is None:
        places = ("labels", "grid", "space")
        stray = next((option for option, value in named.items() if value is not None and option not in places), None)
        if stray is not None:
            raise InvalidInput(f"{_flag(stray)} goes with a --family.", "`--family list` lists them.", argument=stray)
        if n is None and all(named[option] is None for option in places):
            raise InvalidInput("give the largest count with -n, or a --family.", argument="n")
        values = space_of(n, labels, grid, space)
        options = {
            "alpha": alpha, "epsilon": epsilon, "delta": delta or 0, "loss": loss or "L0",
            "properties": properties or (), "prior": _prior(prior, (values.size or 1) - 1), "worst_case": worst_case,
        }  # fmt: skip
        if explain and n is None:
            raise InvalidInput("--explain is for designs of counts, with -n.", argument="explain")
        with waiting("looking for the best mechanism"):
            if explain:
                from ..optimise.design.chooser import choose

                choice = choose(values, **options)
                mechanism = choice.mechanism
            else:
                from ..optimise.design.designing import design as find

                mechanism = find(values, notion=notion, dilation=dilation, **options)
    else:
        del wishes["delta"]  # some families take one
        _refuse_wishes(wishes, worst_case, explain, "A --family is made as it is: leave one of the two out")
        if family.strip().lower() == "list":
            _list("design")
            return
        given = {"n": n, "alpha": alpha, "epsilon": epsilon, "delta": delta, **named}
        mechanism = _build(FAMILIES.find(family, "design", "a family"), given)
    if output is not None:
        mechanism.save(output)
    if plot is not None:
        from ..plots import heatmap

        heatmap(mechanism).save(plot)
    from ..optimise.design.describing import Design

    hand_over(Design(mechanism, choice), page, json)
    if json:
        return
    if output is not None:
        say(f"saved     {output} (discreet verify {output})")
    if plot is not None:
        say(f"drawn     {plot}")


def _refuse_wishes(wishes: dict[str, Any], worst_case: bool, explain: bool, instead: str) -> None:
    """Refuse options that only a design takes."""
    from ..errors import InvalidInput

    given = next((option for option, value in wishes.items() if value is not None), None)
    given = "worst-case" if worst_case else "explain" if explain else given
    if given is not None:
        raise InvalidInput(f"--{given} is for designs.", f"{instead}.", argument=given.replace("-", "_"))


def _list(use: Use) -> None:
    """Print the names of the families offered for a use."""
    for name in FAMILIES.written(use):
        say(name)


def _prior(text: str | None, n: int) -> Any:
    """Return a prior by name, or the numbers in a file, divided by their sum."""
    if text is None:
        return None
    from ..optimise.improve.priors import named_prior, read_prior_file

    return named_prior(text, n) or read_prior_file(text, n)


def _flag(option: str) -> str:
    return "-n" if option == "n" else f"--{option}"


def _build(family: Family, given: dict[str, Any]) -> Mechanism:
    """Call the family with its options; refuse options that it does not take."""
    from ..errors import InvalidInput

    if given["space"] is not None and family.name == "geometric":
        family = FAMILIES["metric_geometric"]
    allowed = {option for name in family.parameters for option in _OPTIONS[name][0]}
    for option, value in given.items():
        if value is not None and option not in allowed:
            raise InvalidInput(
                f"{family.written} does not take {_flag(option)}; it takes {', '.join(map(_flag, sorted(allowed)))}.",
                argument=option,
            )
    positional: list[Any] = []
    options: dict[str, Any] = {}
    for name in family.parameters:
        sources, needed = _OPTIONS[name]
        present = [option for option in sources if given[option] is not None]
        if needed and len(present) != 1:
            largest = ", the largest count" if sources == ("n",) else ""
            raise InvalidInput(
                f"{family.written} needs "
                f"{'exactly one of ' * (len(sources) > 1)}{', '.join(map(_flag, sources))}{largest}.",
                argument=sources[0],
            )
        if name in ("n", "space", "grid"):
            positional.append(given["n"] if name == "n" else _space(given))
        else:
            options.update({option: _named_choice(option, given[option]) for option in present})
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

    given = {"n": n, "labels": labels, "grid": grid, "space": space}
    if sum(value is not None for value in given.values()) != 1:
        raise InvalidInput("give exactly one of -n (counts 0..n), --labels, --grid and --space.", argument="n")
    made: Space = _space(given)
    return made


def _space(given: dict[str, Any]) -> Any:
    from ..space_files import read_space
    from ..spaces import Counts, Labels

    if given["space"] is not None:
        return read_space(given["space"])
    if given["labels"] is not None:
        return Labels(_labels(given["labels"]))
    return Counts(given["n"]) if given["n"] is not None else _grid(given["grid"])


def _labels(text: str) -> list[str]:
    """Return comma-separated answers, or the lines of the file after an @."""
    from ..errors import InvalidInput, UnreadableFile

    if not text.startswith("@"):
        labels = [label.strip() for label in text.split(",")]
        if "" in labels:
            raise InvalidInput.must_be("labels", "answers with one comma between two", text)
        return labels
    try:
        lines = Path(text[1:]).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UnreadableFile(
            f"Cannot read the labels in {text[1:]}: the file is not UTF-8 text.", argument="labels"
        ) from None
    except OSError as problem:
        raise UnreadableFile(f"Cannot read the labels in {text[1:]}: {problem.strerror}.", argument="labels") from None
    labels = [line.strip() for line in lines]
    empty = next((k for k, label in enumerate(labels, 1) if not label), None)
    if empty is not None:
        raise InvalidInput(f"{text[1:]} needs a label on every line; line {empty} is empty.", argument="labels")
    return labels


def _grid(text: str | None) -> Any:
    from ..errors import InvalidInput
    from ..exact.rationals import as_fraction
    from ..spaces import Grid

    number = r"([-+]?[\d.]+)"
    box = re.fullmatch(rf"{number},{number},{number},{number}x([\d./]+)", text or "")
    if box is not None:
        return Grid.from_box(*(as_fraction(one, "grid") for one in box.groups()))  # type: ignore[arg-type]
    match = re.fullmatch(r"(\d+)x(\d+)x([\d./]+)", text or "")
    if match is None:
        raise InvalidInput.must_be("grid", GRIDS, text)
    return Grid(int(match[1]), int(match[2]), as_fraction(match[3], "cell"))  # type: ignore[arg-type]


PICTURES = (".png", ".svg", ".pdf", ".html", ".json")

#: Endings among these that the drawing program makes.
DRAWN = PICTURES[:4]


def _refuse_files(output: Path | None, plot: Path | None = None) -> None:
    """Refuse mechanism files without .json, the ending that distinguishes them from matrices."""
    refuse_unwritable(output, (".json",), "a mechanism file")
    refuse_unwritable(plot, PICTURES, "a picture", DRAWN)


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
    from ..comparison import compare as put
    from ..errors import InvalidInput

    refuse_unwritable(report, PICTURES, "a report", DRAWN)
    refuse_unwritable(page, (".html",), "a page")
    if not _several(loss):
        raise InvalidInput("--loss names at least one loss, such as L0,L1,L2; it is empty.", argument="loss")
    names = None if families is None else _several(families)
    compared: Any = names
    if files:
        compared = _named_files(files)
        if alpha is not None or epsilon is not None or names is not None:
            n = put(compared, loss=["L0"]).n if n is None else n
            added = put(n, alpha=alpha, epsilon=epsilon, families=names, loss=["L0"])
            compared |= {row.name: row.mechanism for row in added.rows}
        comparison = put(n, families=compared, loss=_several(loss))
    elif n is None and space is None:
        raise InvalidInput(
            "give the largest count with -n, or files with mechanisms or matrices to compare.", argument="n"
        )
    else:
        values = space_of(n, None, None, space)
        comparison = put(values, alpha=alpha, epsilon=epsilon, families=names, loss=_several(loss))
    if report is not None:
        comparison.save(report)
    hand_over(comparison, page, json)
    if report is not None and not json:
        say(f"report    {report}")


def _named_files(files: list[Path]) -> dict[str, Any]:
    """Return files by the stems of their names, or by their paths where two are the same."""
    stems = [file.stem for file in files]
    return {file.stem if stems.count(file.stem) == 1 else str(file): str(file) for file in files}


def _several(text: str) -> list[str]:
    """Return the items of a list with commas or pluses."""
    return [part.strip() for part in re.split("[,;+]", text) if part.strip()]


def calibrate(
    family: Annotated[str, typer.Option(help=f"A family by name: {_names('calibrate')}.")],
    n: Annotated[int | None, typer.Option("-n", "--largest", help="The largest count.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(help=f"For {_for('labels')}: the answers, comma separated, or @FILE with one on each line."),
    ] = None,
    grid: Annotated[str | None, typer.Option(help=f"For {_for('grid')}: {GRIDS}.")] = None,
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
    chosen = find_family(family)
    values = space_of(n, labels, grid, space)
    if space is not None and chosen.name == "geometric":
        chosen = FAMILIES["metric_geometric"]
    spaces = _OPTIONS[chosen.parameters[0]][0]
    described = {"n": n, "labels": labels, "grid": grid, "space": space}
    if not any(described[option] is not None for option in spaces):
        raise InvalidInput(
            f"{chosen.written} needs {listed([_flag(one) for one in spaces], 'or')}.", argument=spaces[0]
        )
    if border is not None and grid is None:
        raise InvalidInput("--border is for planar families, with --grid.", argument="border")
    wishes = {
        "distance": distance, "truth": truth, "mean-error": mean_error, "within": within,
        "share-variance": share_variance, "ratio": ratio,
    }  # fmt: skip
    given = [wish for wish, value in wishes.items() if value is not None]
    if len(given) != 1:
        raise InvalidInput(
            f"give exactly one of {', '.join('--' + wish for wish in wishes)}; got {len(given)}.", argument="distance"
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
        options[given[0].replace("-", "_")] = wishes[given[0]]
    result = find(chosen.name, values, **options)
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
