"""The optimum of the matrix mechanism for margins, in closed form, and how far a split is from it.

At zCDP rho, ResidualPlanner (Xiao, He, Zhang, Kifer 2023, arXiv 2305.08175) measures each residual A with Gaussian
noise, at a cost of ``p_A / sigma_A^2`` with ``p_A`` the product of ``(n_i - 1) / n_i`` over A. Of all mechanisms that
add Gaussian noise to linear queries it has the smallest weighted sum of the variances of all cells,

    (sum over A of sqrt(v_A p_A))^2 / (2 rho),

where ``v_A`` is the factor of ``sigma_A^2`` in that sum. This is for people who are added or removed.
"""

from __future__ import annotations

from math import sqrt

from .combine import MarginLeastSquares
from .signed import Columns, Margins, subsets


def variance_factors(margins: Margins) -> dict[Columns, float]:
    """Return ``v_A``: what ``sigma^2`` of each residual is multiplied by in the weighted sum of all variances."""
    factors = dict.fromkeys(margins.residuals, 0.0)
    for table, weight in zip(margins.tables, margins.weights, strict=True):
        for residual in subsets(table):
            factors[residual] += float(weight * margins.cells(table) * margins.variance_share(table, residual))
    return factors


def least_sum_of_variances(margins: Margins, rho: float) -> float:
    """Return the smallest weighted sum of variances of any matrix mechanism at this rho.

    >>> round(least_sum_of_variances(Margins.up_to(1, [4]), 0.5), 6)  # a total and a table of four cells
    6.854102
    """
    root = sum(sqrt(v * margins.residual_variance(one)) for one, v in variance_factors(margins).items())
    return float(root**2 / (2 * rho))


def ratio_to_optimum(solver: MarginLeastSquares, rho: float) -> float:
    """Return the root mean squared error of combined tables over that of the optimum at the same rho.

    The mean is over all cells, with the public weights of the tables.
    """
    margins = solver.margins
    total = sum(v * float(solver.residual_variances[one]) for one, v in variance_factors(margins).items())
    return sqrt(total / least_sum_of_variances(margins, rho))
