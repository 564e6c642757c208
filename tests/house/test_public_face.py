"""The names people rely on: pinned, loaded lazily, documented."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import discreet as dc
from support.grids import every_case

#: A change here is a change for every user: add freely, remove never.
NAMES = {
    *("Counts", "Integers", "Grid", "Labels", "Range", "MetricSpace", "Graph", "Tree", "Ring"),
    *("Mechanism", "geometric", "two_sided_geometric", "randomized_response", "projective_response", "uniform"),
    *("explicit_fair", "response", "share_variance"),
    *("discrete_gaussian", "rounded_laplace", "planar_geometric", "planar_laplace", "exponential", "from_matrix"),
    *("noise_tradeoff", "NoiseTradeoff", "PTable", "read_ptable", "design_ptable"),
    *("bounded_noise", "load", "verify", "Verdict", "Certificate", "Privacy", "Witness"),
    *(
        "check",
        "Checks",
        "FileVerdict",
        "pathologies",
        "cost",
        "expected_loss",
        "bias",
        "variance",
        "tail",
        "probability_of_truth",
    ),
    *("kantorovich", "errors", "losses", "plots", "properties", "utility"),
    *(
        "calibrate",
        "Calibration",
        "compare",
        "Comparison",
        "ComparisonSweep",
        "remap",
        "derivable",
        "symmetrise",
        "explain",
    ),
    *("design", "design_each", "choose", "Choice", "requirements"),
    *("Explanation", "random_rounding", "suppression", "perturb", "compose", "Composition"),
    *("plan_release", "Plan", "release_counts", "Release", "ReleaseRequest", "Ledger", "verify_bundle", "BundleReport"),
    *("explain_bundle", "BundleGuarantee", "export_editions", "simulate_release", "SimulatedRelease"),
    *("crosstab", "CrossTable"),
    *("plan_budget", "BudgetPlan"),
    *("contributions", "Contributions"),
    *(
        "Dataset",
        "open_bundle",
        "export",
        "compare_editions",
        "EditionComparison",
        "open_request",
        "write_request",
        "RequestFile",
    ),
    *("estimate", "Estimate", "Interval", "Band", "Fit", "Homogeneity", "Stratified", "Distance"),
    *("estimate_by", "GroupEstimates", "Difference"),
    *("perturb_file", "PerturbedFile", "estimate_files", "estimate_files_by"),
    *("plan_collection", "CollectionPlan", "ProductSpace", "Joint", "Margin"),
    *("reconstruction_loss", "ReconstructionLoss", "compare_reconstruction", "LossComparison"),
}

#: Names that the distribution discreet-studies adds once it is installed; the file of an entry point says which.
OF_STUDIES = ("study", "StudyResult", "papers")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_all_is_pinned():
    assert set(dc.__all__) == NAMES
    assert len(dc.__all__) == len(set(dc.__all__))


@every_case("name", sorted(NAMES))
def test_every_public_name_exists_and_says_what_it_is(name):
    value = getattr(dc, name)
    assert value is getattr(dc, name)
    assert inspect.getdoc(value)
    assert name in dir(dc)


@every_case("name", OF_STUDIES)
def test_the_studies_add_names_that_say_what_they_are(name):
    assert inspect.getdoc(getattr(dc, name)) and name not in NAMES


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'geometrical'"):
        _ = dc.geometrical


def test_importing_the_package_loads_nothing_else():
    loaded = run(
        "import sys, discreet; print([m for m in sys.modules if m.startswith(('discreet.', 'numpy', 'scipy'))])"
    )
    assert loaded == "[]"


HEAVY = ("scipy", "ot", "highspy", "duckdb", "sqlglot", "pandas", "polars", "pyarrow", "typer", "rich", "vl_convert")


def loaded_after(use: str, libraries: tuple[str, ...]) -> str:
    """Return code that prints which libraries are loaded after some use of the package."""
    return f"import sys, discreet as dc; {use}; print([m for m in {libraries!r} if m in sys.modules])"


@every_case(
    "use",
    [
        "dc.geometric(10, epsilon=1).release(3)",
        "dc.explicit_fair(10, epsilon=1).matrix",
        "dc.verify([[0.5, 0.5], [0.4, 0.6]]).delta(0.1)",
        "dc.randomized_response(['a', 'b'], epsilon=1).release('a')",
        "dc.discrete_gaussian(sigma2=2).release(4)",
    ],
)
def test_everyday_use_loads_no_heavy_library(use):
    assert run(loaded_after(use, HEAVY)) == "[]"


def test_a_heavy_library_that_is_loaded_is_seen():
    assert run(loaded_after("import duckdb", HEAVY)) == "['duckdb']"


def test_star_import_gives_exactly_the_public_names():
    assert run("from discreet import *; print(len([n for n in dir() if not n.startswith('_')]))") == str(len(NAMES))


#: Names of the public face in the design that exist by now, with the arguments it fixes.
SIGNATURES = {
    "geometric": ["n", "epsilon", "alpha"],
    "two_sided_geometric": ["epsilon", "alpha"],
    "randomized_response": ["space", "epsilon"],
    "projective_response": ["space", "epsilon"],
    "explicit_fair": ["n", "alpha", "epsilon"],
    "uniform": ["n"],
    "discrete_gaussian": ["sigma2"],
    "rounded_laplace": ["n", "epsilon"],
    "planar_geometric": ["grid", "epsilon", "border"],
    "planar_laplace": ["grid", "epsilon", "border"],
    "exponential": ["scores", "epsilon", "sensitivity"],
    "from_matrix": ["matrix", "privacy"],
    "verify": ["mechanism", "notion"],
    "cost": ["loss", "prior", "worst_case"],
    "kantorovich": ["p", "q", "space"],
    "load": ["path"],
    "read_ptable": ["path"],
    "bounded_noise": ["epsilon", "stay", "reach", "kind"],
    "estimate": ["counts", "mechanism", "reports", "over", "method"],
}


@every_case("name", SIGNATURES)
def test_arguments_of_the_design_are_kept(name):
    parameters = inspect.signature(getattr(dc, name)).parameters
    assert set(SIGNATURES[name]) <= set(parameters)


@every_case(
    "name",
    [
        *("inputs", "outputs", "matrix", "forward", "backward", "release", "simulate", "certificate", "save"),
        *("probability", "on", "kernel", "local_epsilon"),
    ],
)
def test_a_mechanism_has_the_attributes_of_the_design(name):
    assert hasattr(dc.geometric(3, epsilon=1), name)


@every_case("name", ["ratio", "epsilon", "delta", "witness", "holds", "curve", "single_event_delta"])
def test_a_verdict_has_the_attributes_of_the_design(name):
    assert hasattr(dc.verify([[0.5, 0.5], [0.4, 0.6]]), name)


def test_losses_of_the_design_are_there():
    for name in ("beyond", "power", "matrix"):
        assert callable(getattr(dc.losses, name))


def test_errors_are_one_tree():
    raised = [one for _, one in inspect.getmembers(dc.errors, inspect.isclass) if issubclass(one, BaseException)]
    assert len(raised) > 12
    for error in raised:
        assert issubclass(error, dc.errors.DiscreetError | Warning)
        assert error.__name__ in dc.errors.__doc__


def test_the_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert dc.__version__ == version("discreet")
