# The front door: sets up what is missing, then builds, shows and tests. CMake does the work.
PREFIX ?= /usr/local
BUILD  := build
JOBS   := $(shell nproc)

.PHONY: all setup build demo test bench release install package clean
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

release: setup
	@cmake --preset package >$(BUILD)-package.log 2>&1 || { cat $(BUILD)-package.log; exit 1; }
	@cmake --build build-package -j$(JOBS)

install: release
	@cmake --install build-package --prefix $(abspath $(PREFIX)) --strip

package: release
	@tools/package.sh build-package dist

clean:
	rm -rf build build-asan build-tsan build-release build-package dist *.log
