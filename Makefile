PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo docs test suite test-all test-gpu test-oldest fuzz faults mutants audit lint bench wheel reproduce clean

# The environment is made once and again when the requirements change.
.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: .venv/.ready
	$(BIN)/mvset demo --out demo-output

# The site, in site/: open site/index.html. Nothing on it comes from the network.
docs: export NO_MKDOCS_2_WARNING := 1
docs: .venv/.docs-ready
	$(BIN)/mkdocs build --quiet

.venv/.docs-ready: .venv/.ready
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

lint: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/prose.py

test: lint suite

# One worker more than cores, because some tests wait for processes; threads of the linear algebra beside them would only
# wait for each other.
suite: export OMP_NUM_THREADS := 1
suite: export OPENBLAS_NUM_THREADS := 1
# Tests start many processes: each would compile the library where this is set.
suite: export PYTHONDONTWRITEBYTECODE :=
suite: .venv/.ready
	$(BIN)/python -m pytest -n $$(($$($(BIN)/python -c "import os; print(os.cpu_count())") + 1)) --dist loadfile

# Lists the paper's experiments; `make reproduce ARGS=--all` runs them, ARGS='--all --quick' in two minutes.
reproduce: .venv/.ready
	$(BIN)/mvset reproduce $(ARGS)

# The suite and the simulations behind every guarantee about mass.
test-all: test
	$(BIN)/python -m pytest -m slow

# On a machine with a GPU, and torch in the environment: `make test-gpu BIN=/path/of/another/bin`.
test-gpu:
	$(BIN)/python -m pytest -m gpu tests/devices $(ARGS)

# Files of others, damaged in thousands of ways: `make fuzz ARGS='--cases 20000 --seed 7'`.
fuzz: .venv/.ready
	$(BIN)/python tests/fuzz/run.py $(ARGS)

# Signals, full disks, changing files, odd clocks and forks while it works: `make faults ARGS='--cases 500 --seed 0'`.
faults: .venv/.ready
	$(BIN)/python tests/faults/run.py $(ARGS)

# Small changes to the code that tests should notice: `make mutants ARGS='--sample 50 --seed 2'`; an hour on one core.
mutants: export OMP_NUM_THREADS := 1
mutants: export OPENBLAS_NUM_THREADS := 1
mutants: .venv/.ready
	$(BIN)/python tools/mutants.py $(ARGS)

# The suite on the lowest versions of all requirements, for every Python that pyproject.toml names; ARGS are pytest's.
test-oldest: .venv/.ready
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python tools/oldest.py $(ARGS)

# Known vulnerabilities and licences of the requirements; the first needs a network.
audit: .venv/.ready
	-$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/python tools/audit.py

# Ours beside the peers, one table, file and picture for each question: `make bench ARGS=--quick` takes ten minutes.
bench: .venv/.ready
	-$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python benchmarks/run.py $(ARGS)

# The source distribution and the wheel, and the wheel tried in empty environments.
wheel: .venv/.ready
	$(BIN)/python -m pip install --quiet build uv
	$(BIN)/python tools/wheel.py

clean:
	rm -rf .venv .venv-oldest demo-output bench-output dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name '*.nb[ic]' -delete
