# Every developer action by name. `make demo` and `make test` set up what they need themselves.
# The newest Python that really runs: a shim of that name on the PATH may not.
PYTHON ?= $(shell for one in python3.13 python3.12 python3.11; do \
	$$one -c 'import venv, ensurepip' >/dev/null 2>&1 && { echo $$one; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
PARALLEL := -n 2 --dist worksteal --durations=50 --durations-min=0.5

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check lint docs benchmark release clean

help:  ## Show every target.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: $(VENV)/.core  ## Run the demonstration; its report is in nodulebench-demo/.
	$(BIN)/nodulebench demo --out nodulebench-demo

# The fast tests: units and contracts. They need no PyTorch, browser or database.
test: $(VENV)/.test  ## Run the fast tests (under 3 minutes).
	$(BIN)/pytest -q $(PARALLEL) -m "not slow" tests/unit tests/contracts

# Everything, each test once: one run, so that tests are collected and expensive fixtures made once.
test-all: $(VENV)/.dev  ## Run every test (about 10 minutes).
	$(BIN)/pytest -q $(PARALLEL)

check: $(VENV)/.dev lint  ## Lint, then run every test with coverage.
	$(BIN)/pytest -q $(PARALLEL) --cov --cov-report=term

lint: $(VENV)/.dev  ## Check style, types, layers and the viewer's scripts.
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 src docs benchmarks  # text is UTF-8 everywhere
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if [ -x node_modules/.bin/eslint ]; then npm run --silent lint; \
		else echo "The viewer's scripts were not checked: they need Node.js and 'npm install'."; fi

docs: $(VENV)/.dev  ## Build the documentation into docs/_build/html.
	$(BIN)/sphinx-build -q -W -E -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

benchmark: $(VENV)/.dev  ## Measure speed.
	$(BIN)/python -m benchmarks

# Wheel and source, checked; the versions they were tested with, by their hashes; a bill of materials.
RELEASED := xlsx images dicom sign keys pacs pdf algorithms cluster slurm pandas workbench portal
release: $(VENV)/.release  ## Build wheel, source, constraints and bill of materials into dist/.
	rm -rf dist build/released
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/pip-compile -q --strip-extras --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--no-emit-options --no-emit-find-links $(RELEASED:%=--extra %) -o constraints.txt pyproject.toml
	cp constraints.txt dist
	$(PYTHON) -m venv build/released
	build/released/bin/pip install -q --require-hashes -r constraints.txt
	build/released/bin/pip install -q --no-deps dist/*.whl
	build/released/bin/nodulebench conformance
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
		-o dist/sbom.cdx.json build/released/bin/python

clean:  ## Delete everything that was built.
	rm -rf dist build $(VENV) docs/_build docs/reference/generated nodulebench-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.core: pyproject.toml
	@test -n "$(PYTHON)" || { echo "needs Python 3.13, 3.12 or 3.11 with venv and ensurepip (Debian: apt install python3-venv), or PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -e .
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/pip install -q -e '.[test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(BIN)/pip install -q -e '.[dev]'
	@touch $@

$(VENV)/.release: $(VENV)/.dev
	$(BIN)/pip install -q -e '.[release]'
	@touch $@
