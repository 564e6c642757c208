"""Results as tables for other programs: data frames of pandas, and LaTeX for a paper.

A result states its columns once (:meth:`Tabular.data_columns`), as plain numbers and text without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from .errors import InvalidInput, MissingExtra

#: The columns of a table: their names, and as many values in each.
Columns = Mapping[str, Sequence[object]]

#: Characters that LaTeX reads as commands, and how it writes them.
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "ε": r"$\varepsilon$", "δ": r"$\delta$", "α": r"$\alpha$",
}  # fmt: skip


class Tabular:
    """A result whose numbers form one table."""

    def data_columns(self) -> Columns:
        """Return the columns of its table: numbers as they are, text, and None where there is no value."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the table as a ``pandas.DataFrame``, with unrounded numbers."""
        return as_pandas(self.data_columns())

    def to_latex(self, *, caption: str = "", label: str = "", digits: int = 4) -> str:
        """Return the table as LaTeX with the rules of the package booktabs.

        Parameters
        ----------
        caption, label
            With one of them, a floating table around the rows.
        digits
            Significant digits of numbers that are not whole.
        """
        return as_latex(self.data_columns(), caption=caption, label=label, digits=digits)


def as_pandas(columns: Columns) -> Any:
    """Return columns as a data frame; exact fractions become doubles."""
    try:
        import pandas  # an extra, slow to import
    except ImportError:
        raise MissingExtra("pandas", "frames") from None
    return pandas.DataFrame(
        {name: [float(one) if isinstance(one, Fraction) else one for one in values] for name, values in columns.items()}
    )


def as_latex(columns: Columns, *, caption: str = "", label: str = "", digits: int = 4) -> str:
    r"""Return columns as a LaTeX table: numbers to the right, text to the left.

    Parameters
    ----------
    columns
        Names, and as many values in each.
    caption, label
        With one of them, a floating table around the rows.
    digits
        Significant digits of numbers that are not whole.

    Examples
    --------
    >>> print(as_latex({"name": ["GM", "k_RR"], "cost": [2 / 3, 1]}))
    \begin{tabular}{lr}
    \toprule
    name & cost \\
    \midrule
    GM & 0.6667 \\
    k\_RR & 1 \\
    \bottomrule
    \end{tabular}
    """
    if digits < 1:
        raise InvalidInput.must_be("digits", "at least 1", digits)
    aligned = "".join("r" if _is_numeric(values) else "l" for values in columns.values())
    rows = [[_cell(value, digits) for value in row] for row in zip(*columns.values(), strict=True)]
    lines = [
        rf"\begin{{tabular}}{{{aligned}}}",
        r"\toprule",
        _row([escaped(name) for name in columns]),
        r"\midrule",
        *map(_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if caption or label:
        outside = [rf"\caption{{{escaped(caption)}}}"] if caption else []
        outside += [rf"\label{{{label}}}"] if label else []
        lines = [r"\begin{table}", r"\centering", *outside, *lines, r"\end{table}"]
    return "\n".join(lines)


def escaped(text: str) -> str:
    r"""Return text as LaTeX writes it.

    >>> print(escaped("bias<=1/2 & 5% of k_RR"))
    bias\textless{}=1/2 \& 5\% of k\_RR
    """
    return "".join(_ESCAPES.get(character, character) for character in text)


def _is_numeric(values: Sequence[object]) -> bool:
    return all(one is None or (isinstance(one, int | float | Fraction) and not isinstance(one, bool)) for one in values)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(value: object, digits: int) -> str:
    if value is None:
        return "--"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float | Fraction):
        number = float(value)
        if math.isnan(number):
            return "--"
        if math.isinf(number):
            return r"$\infty$" if number > 0 else r"$-\infty$"
        mantissa, _, exponent = f"{number:.{digits}g}".partition("e")
        return rf"${mantissa}\cdot 10^{{{int(exponent)}}}$" if exponent else mantissa
    return escaped(str(value))
