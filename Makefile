# Every target sets up what it needs, from a machine with Python 3.11 or newer and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# `make test` draws the same random examples every time, plain `.venv/bin/pytest` new ones;
# both compare with the peers, libraries that only the extra `peers` installs.
HYPOTHESIS_PROFILE ?= ci
PYTEST_FLAGS ?= -n auto --dist worksteal

# --quick, or --only with some of the names that `make bench BENCH_FLAGS=--help` lists
BENCH_FLAGS ?=

.DEFAULT_GOAL := help
# how long `make fuzz` attacks, and from which random number
FUZZ_MINUTES ?= 30
FUZZ_SEED ?= 0

.PHONY: help demo test fuzz lint docs bench format clean named-python
.DELETE_ON_ERROR:

help:
	@echo 'make demo    a spacecraft turns over: its equation, its speed, its motion, into demo/'
	@echo 'make test    all checks: lint, docs, tests; a quarter of an hour'
	@echo 'make fuzz    attack it with hostile machines, files and callers; FUZZ_MINUTES=30 FUZZ_SEED=0'
	@echo 'make lint    ruff, mypy, import layers'
	@echo 'make docs    build the documentation into docs/_build/html'
	@echo 'make bench   measure against Pinocchio, CasADi and MuJoCo, into benchmarks/RESULTS.md'
	@echo '             (needs a C compiler; BENCH_FLAGS=--quick for a short run, printed only)'
	@echo 'make format  rewrite the sources in the house format'
	@echo 'make clean   remove .venv, demo/ and everything else that was made here'
	@echo
	@echo 'The first run creates .venv, in less than a minute for the demo; later runs reuse it.'
	@echo 'Another interpreter: make clean, then make demo PYTHON=python3.12'

demo: $(VENV)/.demo
	@$(BIN)/phipsi demo

test: lint docs
	@echo '== pytest'
	@HYPOTHESIS_PROFILE=$(HYPOTHESIS_PROFILE) PHIPSI_REQUIRE_PEERS=1 $(BIN)/python -m pytest $(PYTEST_FLAGS)

fuzz: $(VENV)/.dev
	@$(BIN)/python -m pytest tests/hostile --fuzz $(FUZZ_MINUTES) --fuzz-seed $(FUZZ_SEED)

lint: $(VENV)/.dev
	@echo '== ruff check'
	@$(BIN)/ruff check --quiet .
	@echo '== ruff format'
	@$(BIN)/ruff format --quiet --check . || { $(BIN)/ruff format --diff .; echo "not in the house format: run 'make format'" >&2; exit 1; }
	@echo '== mypy'
	@$(BIN)/mypy --no-error-summary
	@echo '== import layers'
	@$(BIN)/lint-imports --no-cache --no-logo

docs: $(VENV)/.dev
	@echo '== docs'
	@$(BIN)/python -m sphinx -q -W --keep-going -j 2 -b html docs docs/_build/html

bench: $(VENV)/.bench
	@$(BIN)/python -m benchmarks.run $(BENCH_FLAGS)

format: $(VENV)/.dev
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

clean:
	rm -rf $(VENV) build dist demo docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- set-up: one stamp per set of packages, renewed when pyproject.toml changes

$(VENV)/.demo: pyproject.toml $(VENV)/.created
	@echo '== installing phipsi and what the demo needs'
	@$(PIP) --editable '.[plot,view]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.created
	@echo '== installing phipsi and what its checks need (a few minutes the first time)'
	@$(PIP) --editable '.[dev,docs,peers]'
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.created
	@echo '== installing phipsi and what it is measured against'
	@$(PIP) --editable '.[bench]'
	@touch $@

NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
VERSION := import sys; print("%d.%d" % sys.version_info[:2])
define REFUSE
echo "phipsi needs Python 3.11 or newer, and '$(PYTHON)' is not: $$('$(PYTHON)' --version 2>&1)" >&2; \
echo "Install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2; \
exit 1
endef

# An interpreter that was named is taken or refused; others are tried only if none was.
ifeq ($(origin PYTHON),file)
OTHERS := python3.14 python3.13 python3.12 python3.11
else
OTHERS :=
$(VENV)/.created: | named-python
endif

named-python:
	@if ! '$(PYTHON)' -c '$(NEW_ENOUGH)' 2>/dev/null; then $(REFUSE); fi
	@if [ -e $(VENV)/.created ]; then \
	    named=$$('$(PYTHON)' -c '$(VERSION)'); used=$$($(BIN)/python -c '$(VERSION)'); \
	    if [ "$$named" != "$$used" ]; then \
	        echo "== reusing $(VENV) ($$used); make clean first to change it"; \
	    fi; \
	fi

$(VENV)/.created:
	@found=; \
	for python in '$(PYTHON)' $(OTHERS); do \
	    if "$$python" -c '$(NEW_ENOUGH)' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then $(REFUSE); fi; \
	if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "$$found cannot create virtual environments: its venv module is missing." >&2; \
	    echo "On Debian and Ubuntu: apt install python3-venv" >&2; \
	    exit 1; \
	fi; \
	echo "== creating $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv --clear $(VENV)
	@touch $@
