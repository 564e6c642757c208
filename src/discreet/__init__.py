"""discreet: private counts, from design to release.

>>> import discreet as dc
>>> m = dc.explicit_fair(8, alpha="10/11")
>>> m.certificate.ratio
Fraction(11, 10)

Names are loaded when first used, so that importing the package costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES_BY_MODULE = {
    ".spaces": (
        "Counts",
        "Integers",
        "Grid",
        "Labels",
        "Range",
        "Ring",
        "Graph",
        "Tree",
        "MetricSpace",
        "ProductSpace",
    ),
    ".mechanism": ("Mechanism",),
    ".mechanisms.geometric": ("geometric", "two_sided_geometric"),
    ".mechanisms.projective": ("projective_response", "response", "share_variance"),
    ".mechanisms.response": ("randomized_response", "uniform"),
    ".mechanisms.fair": ("explicit_fair",),
    ".mechanisms.gaussian": ("discrete_gaussian",),
    ".mechanisms.laplace": ("rounded_laplace",),
    ".mechanisms.planar": ("planar_geometric", "planar_laplace"),
    ".mechanisms.matrices": ("exponential", "from_matrix"),
    ".ptables.table": ("PTable",),
    ".ptables.read": ("read_ptable",),
    ".optimise.noise.ptable": ("design_ptable",),
    ".files": ("load",),
    ".privacy.verify": ("Verdict",),
    ".verification": ("verify", "FileVerdict"),
    ".privacy.certificate": ("Certificate", "Privacy"),
    ".privacy.witness": ("Witness",),
    ".privacy.compose": ("compose", "Composition"),
    ".checking": ("check", "Checks", "pathologies"),
    ".explanation": ("explain", "Explanation"),
    ".mechanisms.practice": ("random_rounding", "suppression"),
    ".optimise.noise.bounded": ("bounded_noise",),
    ".optimise.noise.tradeoff": ("noise_tradeoff", "NoiseTradeoff"),
    ".optimise.improve.calibration": ("calibrate", "Calibration"),
    ".optimise.design.design": ("design", "design_each"),
    ".optimise.design.chooser": ("choose", "Choice"),
    ".optimise.improve.remapping": ("remap",),
    ".optimise.improve.structure": ("derivable", "symmetrise"),
    ".comparison": ("compare", "Comparison", "ComparisonSweep"),
    ".release.plan.plan": ("Plan",),
    ".release.plan.request": ("ReleaseRequest",),
    ".release.plan.planning": ("plan_release",),
    ".release.counts": ("release_counts",),
    ".release.contributions": ("contributions", "Contributions"),
    ".release.dataset": ("Dataset",),
    ".release.crosstab": ("crosstab",),
    ".release.budget_plan": ("plan_budget", "BudgetPlan"),
    ".release.bundle.cross_frames": ("CrossTable",),
    ".release.bundle.released": ("Release",),
    ".ledger.ledger": ("Ledger",),
    ".release.bundle.verify": ("verify_bundle",),
    ".release.bundle.findings": ("BundleReport",),
    ".release.bundle.open": ("open_bundle",),
    ".release.outputs.editions_excel": ("export_editions",),
    ".release.explain": ("explain_bundle", "BundleGuarantee"),
    ".release.simulate": ("simulate_release", "SimulatedRelease"),
    ".release.outputs.export": ("export",),
    ".release.editions.compare": ("compare_editions", "EditionComparison"),
    ".release.plan.request_file": ("open_request", "write_request", "RequestFile"),
    ".collect.client": ("perturb",),
    ".collect.perturb_file": ("perturb_file", "PerturbedFile"),
    ".collect.estimate_files": ("estimate_files", "estimate_files_by"),
    ".collect.planning.planner": ("plan_collection",),
    ".collect.planning.plan": ("CollectionPlan",),
    ".estimation.methods": ("estimate",),
    ".estimation.result": ("Estimate",),
    ".estimation.intervals.questions": ("Interval", "Band"),
    ".estimation.intervals.joint": ("Joint", "Margin"),
    ".estimation.fit": ("Fit",),
    ".estimation.strata": ("Homogeneity", "Stratified"),
    ".estimation.solvers.distance": ("Distance",),
    ".estimation.groups": ("estimate_by", "GroupEstimates", "Difference"),
    ".estimation.simulation": (
        "reconstruction_loss",
        "ReconstructionLoss",
        "compare_reconstruction",
        "LossComparison",
    ),
    ".utility": ("cost", "expected_loss", "bias", "variance", "tail", "probability_of_truth", "kantorovich"),
}
_MODULES = ("errors", "losses", "plots", "properties", "requirements", "utility")
#: Names of the distribution discreet-studies, which exist once it is installed, and so are not in ``import *``.
_STUDY_NAMES = ("study", "StudyResult", "papers")
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = [
    # spaces of values
    "Counts", "Integers", "Grid", "Labels", "Range", "Ring", "Graph", "Tree", "MetricSpace", "ProductSpace",
    # mechanisms
    "Mechanism", "geometric", "two_sided_geometric", "randomized_response", "projective_response", "response",
    "share_variance", "uniform",
    "explicit_fair", "discrete_gaussian", "bounded_noise", "rounded_laplace", "planar_geometric", "planar_laplace",
    "exponential", "from_matrix", "load",
    # the judge
    "verify", "Verdict", "FileVerdict", "Certificate", "Privacy", "Witness", "compose", "Composition",
    # properties, losses, utility
    "check", "Checks", "pathologies", "cost", "expected_loss", "bias", "variance", "tail", "probability_of_truth",
    "kantorovich",
    # choosing and improving
    "design", "design_each", "choose", "Choice", "calibrate", "Calibration", "compare", "Comparison",
    "ComparisonSweep", "remap",
    "derivable", "symmetrise", "explain", "Explanation", "noise_tradeoff", "NoiseTradeoff",
    # releasing counts of a table
    "plan_release", "Plan", "ReleaseRequest", "release_counts", "Release", "Ledger", "verify_bundle", "BundleReport",
    "Dataset", "open_request", "write_request", "RequestFile", "open_bundle", "export",
    "explain_bundle", "BundleGuarantee", "simulate_release", "SimulatedRelease",
    "crosstab", "CrossTable",
    "plan_budget", "BudgetPlan",
    "contributions", "Contributions",
    "compare_editions", "EditionComparison", "export_editions",
    # collecting
    "perturb", "perturb_file", "PerturbedFile", "plan_collection", "CollectionPlan",
    "estimate", "estimate_files", "estimate_files_by", "Estimate", "Interval", "Band", "Joint", "Margin",
    "Fit", "Homogeneity", "Stratified", "Distance", "estimate_by", "GroupEstimates", "Difference",
    "reconstruction_loss", "ReconstructionLoss", "compare_reconstruction", "LossComparison",
    # common practice, judged
    "random_rounding", "suppression",
    # p-tables of statistics offices
    "PTable", "read_ptable", "design_ptable",
    # modules
    "errors", "losses", "plots", "properties", "requirements", "utility",
]  # fmt: skip

__version__: str


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # most of the time that importing would take

    try:
        return version("discreet")
    except PackageNotFoundError:  # a source tree that is not installed
        return "0"


def renderer() -> Any:
    """Return the renderer of reports (:mod:`discreet.report`), loaded when the first report is shown."""
    return import_module(".pages", __name__)


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        value = _version()
    elif name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name], __name__), name)
    elif name in _MODULES:
        value = import_module(f".{name}", __name__)
    elif name in _STUDY_NAMES:
        value = import_module(".studies", __name__).load(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
