# Every target sets up what it needs: `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.dev

.PHONY: demo test guard test-all browser lint types bench docs wheel clean

# What one needs to use it, and what one needs to work on it: a newcomer does not wait for the second.
$(READY): pyproject.toml
	$(MAKE_VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(DEV): pyproject.toml
	$(MAKE_VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(READY)

define MAKE_VENV
$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "selforg needs Python 3.11 or newer; set PYTHON=..."'
test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
endef

# A newcomer's first minutes: the second hexapod, whose complexity grows, in the faster engine; it learns, is frozen
# at 2, 4 and 8 minutes, recorded, measured and filmed.
RUN := runs/demo/hexapod-high-ulr-mujoco
demo: $(READY)
	$(BIN)/selforg progress hexapod-high --engine mujoco --samples 60000 --transient 5000 --out runs/demo
	$(BIN)/selforg video $(RUN)-1.h5 $(RUN)-8min.mp4 --freeze 8 --seconds 8
	@echo "picture: $(RUN)-progress.png"
	@echo "video:   $(RUN)-8min.mp4"

# All cores; a test of every room and the examples in the docstrings. A file's tests stay together: what they
# share is made once, and kernels are compiled once.
test: $(DEV)
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# What protects users at length: death at every write, damaged blocks, the real browser, a Dask cluster.
guard: $(DEV)
	$(BIN)/python -m pytest -n auto -m 'guard and not long'

test-all: $(DEV)
	$(BIN)/python -m pytest -n auto -m ''

# Chromium for the tests of the report's page; they are skipped where it cannot be installed.
browser:
	@command -v chromium chromium-browser google-chrome || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; \
	else echo "install chromium with your system's packages, or set CHROMIUM to its path" >&2; exit 1; fi

lint: $(DEV)
	$(BIN)/ruff check .

types: $(DEV)
	$(BIN)/mypy

# Figures behind the speed claims, written to docs/results/.
bench: $(DEV)
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

# The site, into build/site: strict, a broken link or a missing name fails.
docs: $(DEV)
	PYTHONPATH=. NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "site: build/site/index.html"

wheel: $(DEV)
	$(BIN)/python -m build --wheel

clean:
	rm -rf $(VENV) build dist *.egg-info
