# The front door. `make` builds and installs nothing; `make setup`, `demo` and `test` install what is missing first.
PREFIX ?= /usr/local
BUILD  := build
JOBS   := $(shell nproc)

.PHONY: all setup build demo test bench release install package format clean
all: build

setup:
	@tools/setup.sh build nvcc test

build:
	@tools/setup.sh --check
	@cmake --preset dev >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@cmake --build $(BUILD) -j$(JOBS)

demo:
	@tools/setup.sh build nvcc
	@cmake --preset demo >$(BUILD)-demo.log 2>&1 || { cat $(BUILD)-demo.log; exit 1; }
	@cmake --build build-demo -j$(JOBS) --target runtime
	@tools/demo.sh build-demo

test: setup build
	@tools/test.sh $(BUILD) -LE exhaustive

bench: build
	@bench/run.sh $(BUILD)

release:
	@tools/setup.sh --check
	@cmake --preset package >$(BUILD)-package.log 2>&1 || { cat $(BUILD)-package.log; exit 1; }
	@cmake --build build-package -j$(JOBS)

install: release
	@cmake --install build-package --prefix $(abspath $(PREFIX)) --strip

package: release
	@tools/package.sh build-package dist

format:
	@tools/format.sh

clean:
	rm -rf build build-demo build-asan build-tsan build-release build-package dist *.log
