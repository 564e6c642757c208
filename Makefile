# Two commands set everything up: `make demo` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# discreet alone, without what only its tests need
ALONE  := $(VENV)/.alone

.DEFAULT_GOAL := help
.PHONY: help setup packages demo test test-slow test-cores lint types check format bench docs screenshots clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,plots,docs,accounting]'
	@touch $@

$(ALONE): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

setup: $(READY)  ## create the environment in .venv and install discreet into it

demo: $(ALONE)  ## release private counts from real data, from the question to the page
	$(BIN)/discreet demo

packages:
	@.ci/system-packages || echo "Without them, the tests of Spark, of Debian's PostgreSQL, in a browser and behind nginx are skipped." >&2

# One thread per worker: two workers already fill two cores.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q --durations=40 --durations-min=4

test: $(READY) packages  ## run the tests (under 15 minutes on two cores)
	$(PYTEST) -m "not slow"

# Kernels of OpenBLAS that other processors choose: no test may depend on the one it runs on. Which tests: tests/numerical.py
CORES_x86_64 := Prescott Haswell
CORES_aarch64 := ARMV8 NEOVERSEN1
CORES = $(CORES_$(subst arm64,aarch64,$(shell uname -m)))

test-slow: $(READY) packages test-cores  ## run the slow tests, and the numerical ones as on other processors (under 45 minutes)
	$(PYTEST) -m slow

test-cores: $(READY)  ## run the numerical tests with the linear algebra of two other processors
	@for core in $(CORES); do \
	  echo "numerical tests, OPENBLAS_CORETYPE=$$core"; \
	  OPENBLAS_CORETYPE=$$core $(PYTEST) -m "numerical and not slow" || exit 1; \
	done

screenshots: $(READY) packages  ## take the pictures of the pages for the documentation
	DISCREET_SCREENSHOTS=$(CURDIR)/docs/_static/pages $(BIN)/python -m pytest -q -k accessible tests/browser/test_pages_in_a_browser.py

lint: $(READY)  ## style
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: $(READY)  ## static types, strictly
	$(BIN)/mypy

check: lint types  ## style and types

format: $(READY)  ## rewrite the code in the house style
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

bench: $(READY)  ## measure speed side by side with peers (makes an environment of their own)
	$(BIN)/python benchmarks/run.py

docs: $(READY)  ## build the documentation into docs/_build/html (offline, warnings are errors)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:  ## remove what the other targets made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist src/*.egg-info benchmarks/.peers docs/_build docs/_generated
