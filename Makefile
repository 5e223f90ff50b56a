# Two commands do all the set-up on a machine with git and Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := $(VENV)/.installed
# Two more than there are cores: tests wait for git, and for one another.
WORKERS ?= $(shell expr $$(nproc 2> /dev/null || echo 1) + 2)
# Tests and demonstrations start thousands of processes: none shall compile bd anew, whatever the machine's image says.
export PYTHONDONTWRITEBYTECODE :=
SEED ?= 1
RUNS ?= 100
SECONDS ?= 60

.PHONY: paper histories slow browser clients coverage help demo test check check-all torture bench lint types docs links recording clean

demo: $(STAMP)  ## four agents race through a hub made for the occasion
	$(BIN)/bd demo

test: $(STAMP)  ## the tests
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow"

slow: $(STAMP)  ## the tests that `make test` leaves out
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m slow

clients: $(STAMP)  ## the real clients that tests/clients runs, from their registries
	tests/clients/install.sh $(BIN)/python

browser: $(STAMP)  ## what drives a browser in tests; the browser is the machine's own Chromium
	$(BIN)/python -m pip install --quiet --editable ".[browser]"

check: lint types docs test  ## what every change has to pass

check-all: lint types docs  ## with the slow tests, in two time zones
	TZ=America/Denver $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal
	TZ=Asia/Kolkata $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

lint: $(STAMP)  ## ruff and the import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(STAMP)  ## mypy
	$(BIN)/mypy

docs: $(STAMP)  ## the pages as a site, site/index.html; a warning or a dead link inside of it ends it
	$(BIN)/sphinx-build -W --keep-going --quiet -b html docs site

recording: $(STAMP)  ## docs/demo.cast and docs/demo.svg anew
	$(BIN)/python docs/record.py

links: $(STAMP)  ## the links that lead outside, over the network
	$(BIN)/sphinx-build --quiet -b linkcheck docs site/links

paper: $(STAMP)  ## the papers' claims, simulated: prints docs/paper.md and writes it
	$(BIN)/python docs/generate_paper.py

histories: $(STAMP)  ## fleets in memory with every possible failure: SEED=.. SECONDS=..
	$(BIN)/python -m tests.histories --seed $(SEED) --seconds $(SECONDS)

torture: $(STAMP)  ## histories with every possible failure: SEED=.. RUNS=..
	$(BIN)/python -m tests.torture --seed $(SEED) --runs $(RUNS)

# Without what compares loaded modules, for coverage loads some of its own, and the transcripts, whose forked processes it slows most.
coverage: $(STAMP)  ## the tests under coverage, and which lines of bd they leave out; fewer than there were once end it
	rm -f .coverage .coverage.*
	$(BIN)/python -m coverage run -m pytest -q -n $(WORKERS) --dist worksteal -o timeout=1500 \
	  --ignore=tests/test_startup.py --ignore=tests/transcripts --ignore=tests/torture
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

help:  ## these lines
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

bench: $(STAMP)  ## speed against git's own commands, in one run
	$(BIN)/python -m bench

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(STAMP)

clean:  ## what the tools have left, and the environment
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* site
