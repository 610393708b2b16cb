PY ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup audit test fuzz lint types contracts bench mutants clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

audit: $(STAMP)
	$(BIN)/proofkv-verify audit int8 --html audit.html

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests -n 2

fuzz: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest fuzz -n 2

mutants: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/proofkv-verify mutants

bench: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.run

clean:
	rm -rf $(VENV) build dist *.egg-info
