# Each target sets up everything it needs: a virtual environment in .venv, then the work.

PYTHON ?= python3
BIN := .venv/bin
# Two test processes more than there are cores, since tests wait for servers and workers; one thread each.
TESTS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 2)')
# Tests start some hundred Python processes: without compiled modules each would compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo docs test fuzz lint kernels eval bench clean

demo: .venv/installed kernels  ## render dances, recognise them from video, write demo/report.html
	$(BIN)/dancematch demo

docs: .venv/installed-docs  ## these documents as a site: build/docs/index.html
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs build/docs

test: .venv/installed-dev  ## everything CI checks
	$(MAKE) --jobs 2 --output-sync=target lint kernels
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n $(TESTS) --dist loadfile --no-loadscope-reorder

fuzz: .venv/installed-dev  ## damaged files by the thousand: make fuzz [FUZZ=1000 per format] [FUZZ_SEED=1]
	FUZZ=$(or $(FUZZ),1000) FUZZ_SEED=$(or $(FUZZ_SEED),1) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/pytest tests/formats/test_fuzzing.py -n $(TESTS) --timeout 0

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The search is compiled here, so that it is not when somebody waits for an answer; without it all works, slowly.
kernels: .venv/installed
	-$(BIN)/dancematch doctor --prepare

eval: .venv/installed-dev  ## how well: make eval AISTPP=FOLDER [UNKNOWN=... VIEWS=... MODEL=... GENRES=... CLIPS=... MEDLEYS=...]
	sh eval/run.sh "$(AISTPP)" "$(UNKNOWN)" "$(VIEWS)" "$(MODEL)" "$(GENRES)" "$(CLIPS)" "$(MEDLEYS)"

bench: .venv/installed  ## how fast: searching, rendering, and (after make demo) pose estimation
	$(BIN)/python bench/search.py
	$(BIN)/python bench/render.py
	$(BIN)/python bench/pose.py demo/*.mp4

clean:
	rm -rf .venv build demo dist

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dancematch needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[serve]'
	touch $@

.venv/installed-docs: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[docs]'
	touch $@ .venv/installed

.venv/installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	touch $@ .venv/installed .venv/installed-docs
