# Each target sets up what it needs; a second run is quick.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test lint clean sanitize arm bench-pass bench-fit bench-transport bench-shap theory-figures

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "emscoreset needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# The package alone, and the package with what its tests need. Rebuilt when the build changes.
NATIVE := $(shell find src/native -type f 2>/dev/null) pyproject.toml CMakeLists.txt
$(VENV)/.installed: $(BIN)/python $(NATIVE)
	$(PIP) install --quiet --editable .
	@touch $@

$(VENV)/.tested: $(BIN)/python $(NATIVE)
	$(PIP) install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.benched: $(VENV)/.tested
	$(PIP) install --quiet --editable '.[test,bench]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/python docs/examples/quickstart.py

test: $(VENV)/.tested
	$(BIN)/python -m pytest -n 2 -q
	$(MAKE) --no-print-directory lint

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Measurements; they write docs/benchmarks. For a short one: make bench-pass ARGS=--quick
bench-pass: $(VENV)/.benched
	$(BIN)/python -m bench.one_pass $(ARGS)

bench-fit: $(VENV)/.benched
	$(BIN)/python -m bench.fit $(ARGS)

bench-transport: $(VENV)/.benched
	$(BIN)/python -m bench.transport $(ARGS)

bench-shap: $(VENV)/.benched
	$(BIN)/python -m bench.shap $(ARGS)

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
