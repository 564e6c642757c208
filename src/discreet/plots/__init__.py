"""Pictures: mechanisms and numbers in, Vega-Lite specifications (plain dicts, data inside) out.

A notebook, a page and a file show the same specification. This package computes nothing; every
number comes from :mod:`discreet.utility`, :func:`discreet.verify` or the mechanism itself. Specifications and JSON
files need nothing; PNG, SVG and HTML need the ``plots`` extra.

>>> import discreet as dc
>>> from discreet import plots
>>> plots.heatmap(dc.explicit_fair(8, alpha="10/11"))
<Chart: Explicit fair, counts 0 to 8, epsilon 0.09532>
"""

from .chart import Chart, beside
from .counts import counts
from .curves import comparison, delta_curve, error
from .editions import editions
from .growth import growth
from .noise import tradeoff
from .probabilities import heatmap, report_map, rows
from .sizes import noise_by_size

__all__ = [
    "Chart", "beside", "comparison", "counts", "delta_curve", "editions", "error", "growth", "heatmap", "noise_by_size",
    "report_map", "rows",
    "tradeoff",
]  # fmt: skip
