"""How the exhibits of [S] name their curves, and whether a printed number is a computed one, rounded."""

from __future__ import annotations

#: The curves of figures 2 to 4: the columns of the tables, and their names in the charts.
CURVES = {
    "bound": "the paper's bound, (2D + 1) delta*",
    "true_delta": "true delta of the paper's noise",
    "least_delta": "least true delta of all such noise",
    "gaussian_variance": "discrete Gaussian of the same variance",
}

#: Where the figures were read off the page: their curves, grids and legends are pictures there.
READ_OFF = (
    "The grid of epsilon and of the stay probability is ours; the paper draws curves without naming their points."
)


def prints_as(printed: str, value: float) -> bool:
    """Return True if a number, rounded to the decimals that are printed, is the printed one.

    >>> prints_as("0.9945", 0.99446), prints_as("282", 281.1)
    (True, False)
    """
    decimals = len(printed.partition(".")[2])
    return f"{value:.{decimals}f}" == printed


def times(factor: float) -> str:
    """Return a large factor as people write it, with three significant digits.

    >>> times(12_459_791.3), times(7.489)
    ('12,500,000', '7.49')
    """
    return f"{float(f'{factor:.3g}'):,.10g}"
