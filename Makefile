# SPDX-License-Identifier: Apache-2.0
# The usual ways in; the build itself is CMake (see CMakePresets.json).
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: help build test bench bench-cassandra bench-pyramid percentiles demo install format lint clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

build: ## the optimised program, build/release/varve; installs missing packages as root
	@tools/install-packages.sh
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) --target varve

test: ## everything that checks the project; installs missing packages as root
	@tools/run-tests.sh

bench: ## measure beside VictoriaMetrics and InfluxDB; results in bench/results
	@tools/run-bench.sh tsbs

bench-cassandra: ## measure Varve on Cassandra; BENCH=--quick for a small run
	@tools/run-bench.sh cassandra $(BENCH)

bench-pyramid: ## measure what tiers give and cost; BENCH=--quick for a small run
	@tools/run-bench.sh pyramid $(BENCH)

percentiles: ## write docs/percentiles.md
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) --target percentile_table
	@build/release/bench/percentile_table examples/data/*.csv > docs/percentiles.md

demo: build ## load real series, ask five questions, leave a server running
	@examples/demo.sh

install: build ## program, completion and man page below PREFIX
	@tools/install.sh $(PREFIX)

format: ## put the C sources into their form
	@tools/lint.sh format

lint: ## clang-format, clang-tidy, shellcheck
	@tools/lint.sh

clean: ## remove all that was built
	rm -rf build
