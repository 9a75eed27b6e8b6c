# Needs Python 3.11 or newer and make; everything else is installed into .venv.

PYTHON ?= python3
ARGS   ?=

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP   := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help demo test check format docs peers bench mutants assets clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) ## see what taut does
	@$(BIN)/taut demo $(ARGS)

test: $(STAMP) ## run the whole test suite (ARGS='-m "not slow"' for the quick part)
	@$(BIN)/pytest -n 2 --dist loadgroup $(ARGS)

check: $(STAMP) ## formatting, lint, import layers, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pyright

format: $(STAMP) ## format the code and fix what lint can fix
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

docs: $(STAMP) ## build the site of the documentation into out/docs
	@$(BIN)/python docs/make_site.py $(ARGS)

peers: $(STAMP) ## install what is measured against, where it can be
	@$(BIN)/python -c 'import heyoka' 2>/dev/null || $(PIP) heyoka || true
	@$(BIN)/python -c 'import elastica' 2>/dev/null || $(PIP) pyelastica || true
	@$(BIN)/python -c 'import pinocchio' 2>/dev/null || $(PIP) pin || true
	@$(BIN)/python -c 'import exudyn' 2>/dev/null || $(PIP) exudyn || true
	@$(BIN)/python -c 'import mujoco' 2>/dev/null || $(PIP) mujoco || true

bench: peers ## measure speed (peers that cannot be installed are left out)
	@$(BIN)/python benchmarks/run.py $(ARGS)

mutants: $(STAMP) ## break the code in many places and see which tests notice (hours)
	@$(BIN)/python tools/mutants.py $(ARGS)

assets: ## bundle the libraries that pages carry anew (needs node and npm)
	@cd tools/assets && npm install --no-package-lock --no-audit --no-fund --silent && npm run --silent build
	@ls -l src/taut/show/assets

clean: ## remove caches and what was built (keeps .venv)
	@rm -rf build dist out .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -path ./$(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	    $(PYTHON) -c 'import sys; sys.exit("taut needs Python 3.11 or newer: make PYTHON=/path/to/python3" if sys.version_info < (3, 11) else 0)' \
	    && echo "Creating $(VENV)" && $(PYTHON) -m venv $(VENV); }
	@echo "Installing taut and its tools into $(VENV) (some minutes the first time)"
	@$(PIP) -e '.[dev]'
	@touch $@
