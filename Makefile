# Each target sets up what it needs; a second run is quick.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: FORCE demo test lint clean sanitize arm bench-pass bench-compress bench-fit \
  bench-transport bench-shap bench-stopping theory-figures paper paper-quick

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "emscoreset needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# The names of the Python files: an editable install knows them by heart.
$(VENV)/.names: $(BIN)/python FORCE
	@find src/emscoreset -name '*.py' | sort | cmp -s - $@ || \
	  find src/emscoreset -name '*.py' | sort > $@

# The package with its command, and with what its tests need. Rebuilt when the build changes.
NATIVE := $(shell find src/native -type f 2>/dev/null) pyproject.toml CMakeLists.txt
$(VENV)/.installed: $(VENV)/.names $(NATIVE)
	$(PIP) install --quiet --editable '.[cli]'
	@touch $@

$(VENV)/.tested: $(VENV)/.names $(NATIVE)
	$(PIP) install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.benched: $(VENV)/.tested
	$(PIP) install --quiet --editable '.[test,bench]'
	@touch $@

# A million rows to 500, the same figures for rows that come later, and what was kept of each column.
demo: $(VENV)/.installed
	$(BIN)/python docs/examples/orders.py
	$(BIN)/emscoreset fit out/orders.parquet -k 500 -o out/coreset.parquet --missing indicator --seed 0
	$(BIN)/emscoreset score out/later.parquet out/coreset.parquet
	$(BIN)/emscoreset show out/coreset.parquet

test: $(VENV)/.tested
	$(BIN)/python -m pytest -n 2 -q
	$(MAKE) --no-print-directory lint

# Larger problems against other solvers: some minutes.
.PHONY: test-slow
test-slow: $(VENV)/.tested
	$(BIN)/python -m pytest -n 2 -q -m slow

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Measurements; they write docs/benchmarks. For a short one: make bench-pass ARGS=--quick
bench-pass: $(VENV)/.benched
	$(BIN)/python -m bench.one_pass $(ARGS)

bench-fit: $(VENV)/.benched
	$(BIN)/python -m bench.fit $(ARGS)

.PHONY: bench-encode
bench-encode: $(VENV)/.benched
	$(BIN)/python -m bench.encode $(ARGS)

bench-transport: $(VENV)/.benched
	$(BIN)/python -m bench.transport $(ARGS)

.PHONY: bench-wcsl
bench-wcsl: $(VENV)/.tested
	$(BIN)/python -m bench.wcsl $(ARGS)

bench-compress: $(VENV)/.benched
	$(BIN)/python -m bench.compress $(ARGS)

bench-shap: $(VENV)/.benched
	$(BIN)/python -m bench.shap $(ARGS)

# The paper's tables and figures -> docs/paper.md; at most an hour, and it can be stopped and
# started again. A few of them in five minutes: make paper-quick
paper: $(VENV)/.benched
	$(BIN)/python -m bench.paper $(ARGS)

paper-quick: $(VENV)/.benched
	$(BIN)/python -m bench.paper --quick $(ARGS)

bench-stopping: $(VENV)/.tested
	$(BIN)/python -m bench.stopping $(ARGS)

# The kernel's check, compiled with GCC's sanitizers.
sanitize:
	bash .ci/sanitize address,undefined
	bash .ci/sanitize thread

# The kernel for 64-bit ARM, its check run in an emulator. On Debian: apt install
# g++-aarch64-linux-gnu qemu-user-static
ARM := aarch64-linux-gnu-g++
arm:
	cmake -S . -B build/arm -DEMS_CHECK=ON -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	  -DCMAKE_CXX_COMPILER=$(ARM) -DCMAKE_CXX_FLAGS=-Werror -DCMAKE_EXE_LINKER_FLAGS=-static
	cmake --build build/arm
	qemu-aarch64-static build/arm/check

# The pictures of docs/theory.md.
theory-figures: $(VENV)/.tested
	$(BIN)/python -m bench.theory

clean:
	rm -rf $(VENV) build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis
