# make run    a gateway on this machine, complete: `tollgate dev`
# make test   everything that CI runs
# make check  style, types and layers alone
# make bench  what the gateway adds to a vendor's answer, measured here
# make chaos  load while everything fails, and the vendor's list of calls held against the ledger

PYTHON ?= python3
BIN := .venv/bin
FILES := app workers tests bench config

.PHONY: run test check bench chaos
.DELETE_ON_ERROR:

run: .venv/run.stamp
	@$(BIN)/tollgate dev

test: check
	$(BIN)/coverage erase
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term $(PYTEST_FLAGS)

check: .venv/dev.stamp
	$(BIN)/ruff check --config config/ruff.toml $(FILES)
	$(BIN)/ruff format --check --config config/ruff.toml $(FILES)
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev.stamp
	@$(BIN)/python -m bench

chaos: .venv/dev.stamp
	@$(BIN)/python -m tests.chaos $(CHAOS_FLAGS)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tollgate needs Python 3.11 or newer; this is " + sys.version)'
	@echo 'Making .venv'
	@$(PYTHON) -m venv .venv

.venv/run.stamp: setup.cfg pyproject.toml | $(BIN)/python
	@echo 'Installing Tollgate and what it needs into .venv (again only when setup.cfg changes)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	@touch $@

.venv/dev.stamp: setup.cfg pyproject.toml | $(BIN)/python
	@echo 'Installing Tollgate, its tests and its tools into .venv (again only when setup.cfg changes)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,dev]'
	@touch $@ .venv/run.stamp
