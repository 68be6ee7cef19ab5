# The front door: sets up what is missing, then builds, shows and tests. CMake does the work.
PREFIX ?= /usr/local
BUILD  := build
JOBS   := $(shell nproc)

.PHONY: all setup build demo test bench install clean
all: build

setup:
	@tools/setup.sh

build: setup
	@cmake --preset dev >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@cmake --build $(BUILD) -j$(JOBS)

demo: build
	@tools/demo.sh $(BUILD)

test: build
	@tools/test.sh $(BUILD) -LE exhaustive

bench: build
	@bench/run.sh $(BUILD)

install: setup
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD)-release.log 2>&1 || { cat $(BUILD)-release.log; exit 1; }
	@cmake --build build-release -j$(JOBS)
	@cmake --install build-release --strip

clean:
	rm -rf build build-asan build-tsan build-release *.log
