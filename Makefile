# Everything a fresh machine needs: `make demo` runs the main job on real input, `make test` runs every check.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint docs bench clean

$(VENV)/.installed: requirements/dev.txt pyproject.toml
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

docs: $(VENV)/.installed
	$(BIN)/zensical build --clean --strict
	$(BIN)/python scripts/check_pages.py build/site

test: lint docs
	$(BIN)/python -m pytest -q

bench: $(VENV)/.installed
	$(BIN)/python bench/cold_start.py
	$(BIN)/python bench/resolve_speed.py
	$(BIN)/python bench/watch_memory.py --looks 20000
	$(BIN)/python bench/traces.py

clean:
	rm -rf $(VENV) .cache build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
