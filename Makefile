# Two commands set everything up: `make demo` and `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# One environment, which grows with what is asked of it: discreet alone, with its studies and what Python can test, with
# everything.
ALONE  := $(VENV)/.alone
TESTED := $(VENV)/.tested
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup packages demo test test-all test-rest test-cores test-long test-times lint types check format bench docs screenshots clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

INSTALL = @test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); \
  echo "installing $(1) into $(VENV)"; $(BIN)/python -m pip install --quiet --disable-pip-version-check \
  $(foreach project,$(1),--editable '$(project)') && touch $@

$(ALONE): pyproject.toml
	$(call INSTALL,.)

$(TESTED): pyproject.toml studies/pyproject.toml
	$(call INSTALL,.[test] studies)

$(READY): pyproject.toml studies/pyproject.toml
	$(call INSTALL,.[dev] studies)
	@touch $(TESTED)

setup: $(READY)  ## create the environment in .venv and install discreet and its studies into it, with all tools

demo: $(ALONE)  ## release private counts from real data, from the question to the page
	$(BIN)/discreet demo

packages:
	@.ci/system-packages

# One thread per worker: two workers already fill two cores.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q --durations=20 --durations-min=1

test: $(TESTED)  ## run the fast tests (about eight minutes on two cores; nothing but Python is needed)
	$(PYTEST) --ignore=tests/full --ignore=tests/long -m "not full and not long"

test-all: test test-rest  ## run everything: also Spark, browsers, servers, kills, documentation, studies (about 45 minutes)

test-rest: $(READY) packages test-cores  ## run what `make test-all` has beyond `make test`
	DISCREET_NO_SKIPS=1 $(PYTEST) --ignore=tests/long -m "full and not long"

# Kernels of OpenBLAS that other processors choose: no test may depend on the one it runs on. Which tests:
# tests/support/numerical.py
CORES_x86_64 := Prescott Haswell
CORES_aarch64 := ARMV8 NEOVERSEN1
CORES = $(CORES_$(subst arm64,aarch64,$(shell uname -m)))

test-cores: $(TESTED)  ## run the tests of linear algebra as on two other processors
	@for core in $(CORES); do \
	  echo "numerical tests, OPENBLAS_CORETYPE=$$core"; \
	  OPENBLAS_CORETYPE=$$core $(PYTEST) --ignore=tests/full --ignore=tests/long -m "numerical and not full and not long" || exit 1; \
	done

test-long: $(READY) packages  ## run the largest batteries, and every property on ten times as many examples (hours)
	DISCREET_NO_SKIPS=1 $(PYTEST) --hypothesis-profile=long -m "long or hypothesis"

test-times: $(TESTED)  ## run the fast tests and write tests/times.md: the slowest tests, files and fixtures
	$(PYTEST) --ignore=tests/full --ignore=tests/long -m "not full and not long" --times=tests/times.md

screenshots: $(READY) packages  ## take the pictures of the pages for the documentation
	DISCREET_SCREENSHOTS=$(CURDIR)/docs/_static/pages $(BIN)/python -m pytest -q -k "accessible or fits_a_phone" tests/full/browser

lint: $(READY)  ## style
	$(BIN)/ruff check src studies/src tests benchmarks
	$(BIN)/ruff format --check src studies/src tests benchmarks

types: $(READY)  ## static types, strictly
	$(BIN)/mypy

check: lint types  ## style and types

format: $(READY)  ## rewrite the code in the project's style
	$(BIN)/ruff check --fix src studies/src tests benchmarks
	$(BIN)/ruff format src studies/src tests benchmarks

bench: $(READY)  ## measure speed side by side with peers (makes an environment of their own) and write docs/benchmarks.md
	$(BIN)/python benchmarks/run.py --page docs

docs: $(READY)  ## build the documentation into docs/_build/html (offline, warnings are errors)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:  ## remove what the other targets made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist src/*.egg-info studies/build studies/src/*.egg-info benchmarks/.peers docs/_build docs/_generated
