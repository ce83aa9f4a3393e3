# Everything a fresh machine needs: `make demo` runs the main job on real input, `make test` runs every check.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 0
REFERENCE := make_cli_reference make_json_reference make_formulas make_catalog_page make_engine_rules make_questions make_cliff_figure

# Set, it would make each of the suite's thousand runs of `poolsplit` compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint docs reference kernels tests bench clean

$(VENV)/.installed: requirements/dev.txt pyproject.toml src/poolsplit/__init__.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV): $(VENV)/.installed

demo: $(VENV)/.installed
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/demo.sh

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_rooms.py

reference: $(VENV)/.installed   # pages that are written from the code; the tests fail when one is out of date
	for script in $(REFERENCE); do $(BIN)/python scripts/$$script.py || exit 1; done

docs: $(VENV)/.installed
	$(BIN)/zensical build --clean --strict
	$(BIN)/python scripts/check_pages.py build/site

kernels: $(VENV)/.installed
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/compile_kernels.sh

tests: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n $(WORKERS)

test: lint docs tests

bench: $(VENV)/.installed
	$(BIN)/python bench/cold_start.py
	$(BIN)/python bench/resolve_speed.py
	$(BIN)/python bench/watch_memory.py --looks 20000
	$(BIN)/python bench/traces.py

clean:
	rm -rf $(VENV) .cache build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
