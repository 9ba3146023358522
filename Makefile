# Each target sets up what it needs: a virtual environment with the versions in constraints.txt.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help demo test slow pythons mutants lint bench deployment docs sbom lock clean
help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV) || ($(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv $(VENV))

$(VENV)/.base: pyproject.toml constraints.txt | $(VENV)/bin/pip
	$(BIN)/pip install -q -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/pip
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.base

demo: $(VENV)/.base  ## the whole job on data that come with the package
	$(BIN)/discreet demo
	@echo "The command is $(BIN)/discreet; '. $(BIN)/activate' puts it on the path."

test: export PYTHONDONTWRITEBYTECODE =  # compiled once, not in each of some hundred processes
test: export OMP_NUM_THREADS = 1  # the tests themselves keep the cores busy: threads that wait for one would spin
test: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/.dev  ## the tests, the doctests and the import contract
	$(BIN)/python -m pytest --durations=25

slow: $(VENV)/.dev  ## the precise statistical checks, which take many minutes
	$(BIN)/python -m pytest -m slow

pythons: $(VENV)/.dev  ## install, demo and the tests of some rooms on every supported Python that the machine has
	$(BIN)/python -m pytest -n 0 -s -rs -m slow tests/test_pythons.py

mutants: $(VENV)/.dev  ## plant every privacy fault of a list, one by one: the tests must notice each
	$(BIN)/python -m tests.mutants $(MUTANTS)

lint: $(VENV)/.dev  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

deployment: $(VENV)/.dev  ## the federated deployment tests, the slow ones too
	DISCREET_SLOW=1 $(BIN)/python -m pytest -n 0 tests/federated/flower

bench: $(VENV)/.dev  ## speed, memory and accuracy as ratios to peers in the same run
	$(BIN)/pip install -q -c constraints.txt -e '.[dev,bench]'
	$(BIN)/python -m benchmarks

sbom: $(VENV)/.dev  ## rewrite sbom.json, the list of components
	$(BIN)/python -m tests.sbom --write

docs: $(VENV)/.dev  ## the site of the documentation, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

lock: $(VENV)/.dev  ## rewrite constraints.txt from this environment
	@(echo "# Every version the test run uses: names and versions only. Refresh with 'make lock'."; \
	  $(BIN)/pip freeze --exclude-editable | grep -E '^[A-Za-z0-9_.-]+==') > constraints.txt

clean:  ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
