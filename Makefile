# Every target sets up what it needs: `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all lint types bench wheel clean

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "selforg needs Python 3.11 or newer; set PYTHON=..."'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/selforg doctor

test: $(READY)
	$(BIN)/python -m pytest

test-all: $(READY)
	$(BIN)/python -m pytest -m ''

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist *.egg-info
