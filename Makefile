# The short front of the build; CMake and Ninja do the work (CMakeLists.txt).
#   make           library and programs into build/        make test     unit and install tests
#   make demo      train, save, restore, classify digits   make check    include laws, budgets, headers
#   make asan      the tests under ASan and UBSan          make tsan     the tests under TSan
#   make tsan-threads   those that are about threads, under TSan: some minutes
#   make fuzz      each fuzz target for FUZZ_SECONDS       make bench    speed beside TensorFlow
#   make bench-board   leat board beside TensorBoard       make bench-cluster   servers beside its
#   make bench-simulate   what leat simulate predicts beside what local processes do
#   make bench-python   the Python package beside TensorFlow's
#   make bench-trace   leat board with a recording of TRACE_SPANS spans
#   make bench-variants   what the optimizer does with the same work written in different ways
#   make test-corpus   TensorFlow's own Python tests
#   make test-oracle   against TensorFlow itself           make install  PREFIX=/usr/local DESTDIR=
#   make asan-python, tsan-python   the Python package's tests under ASan and UBSan, under TSan
#   make test-python   the Python package's tests          make wheel    the package, into build/wheel
#   make sdist     its source archive, into build/wheel    make test-sdist   builds the package of it
#   make docs-python    the reference of the Python API, pages in build/docs/python
#   make docs-ops      docs/ops/, a page for each family of ops, which `make test` compares
#   make test-faults   a cluster on bad networks, with processes that are killed; needs root
#   make test-schedulers   clusters that Slurm and Open MPI start; needs root
#   make test-kubernetes   a cluster on a real Kubernetes in this machine; needs root, Go and the network
#   make test-board    the board's pages in a headless browser, and recordings in Perfetto's viewer
# JOBS limits parallel work; TESTS selects tests by a regular expression, PYTHON_TESTS those of the
# Python package by a pattern of file names.
BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 10
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
TESTS ?= .
PYTHON_TESTS ?= *_test.py
TRACE_SPANS ?= 10000000
CMAKE_FLAGS ?=
NINJA = ninja -j $(JOBS)
# Runs the tests of a build folder, and tells of each case that was skipped, though its test passed.
# Many tests wait for others more than they work, so that one more runs than there are processors.
CTEST = $(CURDIR)/dev/scratch ctest --output-on-failure -j $$(($(JOBS) + 1)) -R '$(TESTS)'
LIST_SKIPS = code=$$?; $(CURDIR)/dev/list-skips . && exit $$code
CONFIGURE = cmake -G Ninja -S . $(CMAKE_FLAGS)
# As without sanitizers, an allocation that cannot be had is NULL. The sanitizers' hook on
# __tls_get_addr stays off: it takes a thread's block at 16 bytes into a page for one of an old
# glibc, and reads a size and an address from what lies before it. LeakSanitizer dies of them at
# exit ("Tracer caught signal 11"), ThreadSanitizer where a thread of UCX names itself ("failed to
# allocate 0x1ed1... bytes"). Thread-local memory is found without the hook, as any allocated memory
# is.
NO_TLS_HOOK = intercept_tls_get_addr=0
SANITIZER_ENV = UBSAN_OPTIONS=print_stacktrace=1 \
  ASAN_OPTIONS=allocator_may_return_null=1:$(NO_TLS_HOOK) \
  LSAN_OPTIONS=suppressions=$(CURDIR)/dev/lsan-suppressions \
  TSAN_OPTIONS=$(NO_TLS_HOOK):suppressions=$(CURDIR)/dev/tsan-suppressions

.PHONY: all setup test check demo install asan tsan asan-build tsan-build tsan-threads \
  asan-python tsan-python fuzz bench bench-variants bench-board bench-cluster bench-simulate \
  bench-python bench-trace test-oracle test-python test-corpus test-board test-faults \
  test-schedulers test-kubernetes wheel sdist test-sdist test-clients docs-python docs-ops clean
all: $(BUILD)/build.ninja
	@$(NINJA) -C $(BUILD)

$(BUILD)/build.ninja:
	@dev/setup
	@$(CONFIGURE) -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)

setup:
	@dev/setup

test: setup all
	@$(NINJA) -C $(BUILD) leat_tests
	@cd $(BUILD) && { $(CTEST); $(LIST_SKIPS); }

check:
	@dev/check
	@dev/generate-messages --check
	@dev/list-capi --check
	@dev/board-page --check

demo: setup all
	@dev/demo $(BUILD)

install: all
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

build-asan/build.ninja:
	@dev/setup
	@$(CONFIGURE) -B build-asan -DLEAT_SANITIZE=address,undefined -DLEAT_DEBUG=ON \
	  -DLEAT_WERROR=OFF -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g1"

# OpenMP's barriers are invisible to TSan: the oneDNN module stays out.
build-tsan/build.ninja:
	@dev/setup
	@$(CONFIGURE) -B build-tsan -DLEAT_SANITIZE=thread -DLEAT_DEBUG=ON \
	  -DLEAT_WERROR=OFF -DLEAT_ONEDNN=OFF -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g1"

asan-build tsan-build: %-build: build-%/build.ninja
	@$(NINJA) -C build-$* all leat_tests

asan tsan: %: %-build
	@cd build-$* && { $(SANITIZER_ENV) $(CTEST); $(LIST_SKIPS); }

tsan-threads: build-tsan/build.ninja
	@$(NINJA) -C build-tsan leat_thread_tests
	@cd build-tsan && { $(SANITIZER_ENV) $(CTEST) -L '^threads$$'; $(LIST_SKIPS); }

asan-python tsan-python: %-python: build-%/build.ninja
	@$(NINJA) -C build-$* leat_python_package leat_tool
	@JOBS=$(JOBS) dev/test-python build-$* '$(PYTHON_TESTS)'

fuzz:
	@FUZZ_SECONDS=$(FUZZ_SECONDS) JOBS=$(JOBS) dev/fuzz

bench: all
	@python3 bench/run.py $(BENCH_ARGS)

bench-variants: all
	@python3 bench/variants.py $(BENCH_ARGS)

bench-board: all
	@python3 bench/board.py $(BENCH_ARGS)

bench-cluster: all
	@python3 bench/cluster.py $(BENCH_ARGS)

bench-simulate: all
	@python3 bench/simulate.py $(BENCH_ARGS)

bench-trace: all
	@$(NINJA) -C $(BUILD) trace_bench
	@folder=$$(mktemp -d) && trap "rm -r $$folder" EXIT && mkdir $$folder/cache && \
	  $(BUILD)/bin/trace_bench make $$folder/b.perfetto-trace $(TRACE_SPANS) && \
	  $(BUILD)/bin/trace_bench measure $$folder/b.perfetto-trace $$folder/cache

bench-python: all
	@python3 bench/python.py $(BENCH_ARGS)

test-oracle: setup all
	@dev/test-oracle $(ORACLE_ARGS)

test-python: setup all
	@$(NINJA) -C $(BUILD) leat_image
	@JOBS=$(JOBS) dev/test-python $(BUILD) '$(PYTHON_TESTS)'

test-corpus: setup all
	@JOBS=$(JOBS) dev/test-corpus $(BUILD) $(CORPUS_ARGS)

test-board: setup all
	@$(NINJA) -C $(BUILD) figure1
	@python3 tests/board/page_test.py $(BUILD)
	@python3 tests/board/perfetto_test.py $(BUILD)

# FAULTS_ARGS=--short is what CI has time for; tests/faults/faults.py has the others.
test-faults: setup all
	@$$(python3 dev/python_venv.py) tests/faults/faults.py --build $(BUILD) $(FAULTS_ARGS)

test-schedulers: setup all
	@dev/setup schedulers
	@$$(python3 dev/python_venv.py) tests/schedulers/schedulers.py --build $(BUILD)

# Builds Kubernetes' programs and the images, once: half an hour, and no part of CI.
test-kubernetes: wheel
	@dev/setup kubernetes
	@$(NINJA) -C $(BUILD) leat_image
	@python3 tests/kubernetes/kubernetes.py --build $(BUILD)

# Fetches the bindings of other languages, and compiles them: minutes, and no part of CI.
test-clients: all
	@dev/test-clients --build $(BUILD)

wheel: setup all
	@python3 python/build_backend.py wheel $(BUILD)/wheel $(BUILD)

docs-python: $(BUILD)/build.ninja
	@$(NINJA) -C $(BUILD) docs-python

docs-ops: all
	@dev/op-pages --build $(BUILD)

sdist:
	@python3 python/build_backend.py sdist $(BUILD)/wheel

test-sdist: setup
	@dev/test-sdist

clean:
	@rm -rf build build-asan build-tsan build-fuzz
