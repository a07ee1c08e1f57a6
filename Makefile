# pagek: `make run` and `make check` are all that a newcomer needs.
CC ?= cc
CXX ?= c++
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
DESTDIR ?=
B ?= build

BINDIR = $(PREFIX)/bin
LIBDIR = $(PREFIX)/lib/pagek
LIBEXECDIR = $(PREFIX)/libexec/pagek
MANDIR = $(PREFIX)/share/man
DATADIR = $(PREFIX)/share/pagek
PCDIR = $(PREFIX)/lib/pkgconfig
# Where the shells look; fish's and zsh's own folders for what comes from others.
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
# Where systemd looks; of a PREFIX of one's own nowhere else.
UNITDIR ?= $(PREFIX)/lib/systemd
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d

WARNINGS = \
	-Wall \
	-Wextra \
	-Wcast-qual \
	-Wformat=2 \
	-Wmissing-prototypes \
	-Wpointer-arith \
	-Wshadow \
	-Wsign-compare \
	-Wstrict-prototypes \
	-Wundef \
	-Wvla \
	-Wwrite-strings

# What `make check` and friends build with, on top; see tests/check.
SANITIZE ?=
ifneq ($(SANITIZE),)
SANFLAGS = -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
endif

PKGS = ncursesw libuv libcbor nettle
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
# elfutils is optional: without it a caller is module+offset.
HAVE_DW := $(shell pkg-config --exists libdw 2>/dev/null && echo 1)
ifeq ($(HAVE_DW),1)
DW_CFLAGS := -DHAVE_ELFUTILS=1 $(shell pkg-config --cflags libdw)
DW_LIBS := $(shell pkg-config --libs libdw)
endif
# libiberty is static and optional: without it names stay mangled.
HAVE_IBERTY := $(shell printf '\043include <libiberty/demangle.h>\n' | \
	$(CC) -E - >/dev/null 2>&1 && echo 1)
ifeq ($(HAVE_IBERTY),1)
DW_CFLAGS += -DHAVE_IBERTY=1
DW_LIBS += -liberty
endif
# protobuf-c and zlib are optional: without them there is no export for pprof.
HAVE_PPROF := $(shell pkg-config --exists libprotobuf-c zlib 2>/dev/null && \
	command -v protoc-c >/dev/null && echo 1)
ifeq ($(HAVE_PPROF),1)
PPROF = $B/src/export/pprof.pb-c
PPROF_CFLAGS := -DHAVE_PPROF=1 $(shell pkg-config --cflags libprotobuf-c zlib)
PPROF_LIBS := $(shell pkg-config --libs libprotobuf-c zlib)
endif
# zstd is optional: without it captures are larger, and compressed ones not read.
HAVE_ZSTD := $(shell pkg-config --exists libzstd 2>/dev/null && echo 1)
ifeq ($(HAVE_ZSTD),1)
PKG_CFLAGS += -DHAVE_ZSTD=1 $(shell pkg-config --cflags libzstd)
PKG_LIBS += $(shell pkg-config --libs libzstd)
endif

# What the machine that we build for is like.  The viewer's side runs on 32
# bits and in either byte order; times after 2038 and large files come with the
# two macros.  A processor without 64-bit atomics has them from a library.
# (clang begins with an empty line: hence strip.)
MACHINE := $(strip $(shell printf '\043ifdef __LP64__\nlp64\n\043endif\n\043if \
	__GCC_ATOMIC_LLONG_LOCK_FREE != 2\nlocked\n\043endif\n' | \
	$(CC) -E -P -x c - 2>/dev/null))

# Levels that tests/check adds to CFLAGS.  COLD is for rooms in which tests spend
# no time: with -O0 a sanitized room compiles in half the time with gcc and in a
# third with clang, and nothing is optimised away before the sanitizer looks.
# WARM is for the node, and TESTED for the files of the tests.
COLD ?=
WARM ?= $(COLD)
TESTED ?= $(COLD)
$B/tests/check_%.o: LEVEL = $(TESTED)
$(foreach room,allocp export filter mdd pagek profile symbol,$B/src/$(room)/%.o): \
	LEVEL = $(COLD)
$B/src/nodes/%.o: LEVEL = $(WARM)
# Captures are read by millions of events, and tables are looked at whole in
# each step of this test.
$B/src/capture/%.o $B/tests/check_blklist_hash.o: LEVEL =

REQUIRED = -std=c17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 \
	$(WARNINGS) $(PKG_CFLAGS) $(DW_CFLAGS) \
	-DPAGEK_VERSION='"$(VERSION)"' -DPAGEK_LIBDIR='"$(LIBDIR)"' \
	-DPAGEK_LIBEXECDIR='"$(LIBEXECDIR)"' $(SANFLAGS)
VERSION = 0.1
LIBS = $(PKG_LIBS) -lm -pthread $(if $(filter locked,$(MACHINE)),-latomic)

BASE = $(sort $(wildcard src/base/*.c))
STREAM = $(sort $(wildcard src/stream/*.c src/stream/*/*.c))
ALLOCP = $(sort $(wildcard src/allocp/*.c))
BLKLIST = $(sort $(wildcard src/blklist/*.c src/blklist/*/*.c))
SYMBOL = $(sort $(filter-out %/pagek-symbols.c,$(wildcard src/symbol/*.c src/symbol/*/*.c)))
NODES = $(sort $(filter-out src/nodes/pageknode/main.c,$(wildcard src/nodes/*/*.c src/nodes/*/*/*.c)))
PROFILE = $(sort $(wildcard src/profile/*.c))
CAPTURE = $(sort $(wildcard src/capture/*.c src/capture/*/*.c))
MDD = $(sort $(filter-out src/mdd/target/%,$(wildcard src/mdd/*/*.c))) \
	src/mdd/target/settings.c
EXPORT = $(sort $(wildcard src/export/*.c))
USAGE = $(sort $(wildcard src/usage/*.c))
STRESS = $(sort $(wildcard src/stress/*.c))
REFCNT = $(sort $(wildcard src/refcnt/*.c src/refcnt/*/*.c))
PAGEK = $(sort $(wildcard src/pagek/*/*.c src/pagek/*/*/*.c))
ALLOCLOG = $(sort $(wildcard src/alloclog/*.c src/alloclog/*/*.c))
# The parts of the target side that can be linked into a test.
UNWIND = $(sort $(wildcard src/alloclog/unwind/*.c))
PRODUCE = $(sort $(wildcard src/alloclog/produce/*.c)) $(UNWIND)

FILTER = $(sort $(wildcard src/filter/*.c))
ROOMS = $(BASE) $(FILTER) $(STREAM) $(BLKLIST) $(ALLOCP) $(SYMBOL) $(NODES) $(PROFILE) $(CAPTURE) $(MDD) \
	$(EXPORT) $(USAGE) $(STRESS) $(REFCNT) $(PAGEK)
ROOM_OBJS = $(ROOMS:%.c=$B/%.o) $(PPROF:=.o)
ARCHIVE = $B/rooms.a
# The library includes the core of memory debug data.  The code that runs in each
# process comes first, so that it lies together.
STARTS = $(addprefix src/alloclog/,attach.c real.c unwind/libc.c produce/areas.c \
	in_hook.c functions.c operators.c hooks.c threads.c)
PIC_OBJS = $(patsubst %.c,$B/pic/%.o,$(STARTS) $(filter-out $(STARTS),$(ALLOCLOG))) \
	$(addprefix $B/pic/src/mdd/target/,core.o \
	settings.o)
TARGETS_C = $(patsubst tests/targets/%.c,$B/tests/targets/%,$(sort $(wildcard tests/targets/*.c)))
TARGETS_CXX = $(patsubst tests/targets/%.cc,$B/tests/targets/%,$(sort $(wildcard tests/targets/*.cc)))

# The target side wants 64-bit pointers, and 64-bit atomics that need no lock:
# two processes share them.  Elsewhere there is none, and no test of it.
PROGRAMS = $B/pagek $B/pageknode $B/pagek-symbols $B/libmdd.a \
	$B/libusage_xmemory.a $B/libpagek-refcnt.so
ifeq ($(MACHINE),lp64)
PRELOAD = $B/liballoclog.so
PROGRAMS += $(PRELOAD)
endif

# Programs for the kernel, where clang and libbpf are there.
EBPF_CC = clang
EBPF_HAS := $(shell pkg-config --exists libbpf 2>/dev/null && \
	command -v $(EBPF_CC) 2>/dev/null)
ifneq ($(and $(PRELOAD),$(EBPF_HAS)),)
LEVELS = $B/pagek-levels
PROGRAMS += $(LEVELS)
endif

# PROGRAM:SUITE for each row of the table of linked tests that this machine can
# run; NEEDS=threads or SUITES on the command line selects some.
NEEDS ?=
SUITES := $(shell awk -F '[(), ]+' '/^SUITE/ && /[, ]$(NEEDS)[, ]/ \
	$(if $(PRELOAD),,&& !/ lp64[, ]/) { print $$2 ":" $$3 }' tests/suites.def)
CHECKS = $(addprefix $B/tests/check_,$(sort $(foreach s,$(SUITES),\
	$(firstword $(subst :, ,$s)))))

all: $(PROGRAMS)

$B/pagek: $B/src/pagek/main.o $(ARCHIVE)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(PPROF_LIBS)

$B/pageknode: $B/src/nodes/pageknode/main.o $(ARCHIVE)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The only one that reads strangers' files.
$B/pagek-symbols: $B/src/symbol/reader/pagek-symbols.o $(ARCHIVE)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(DW_LIBS) -ldl -pthread

# It has capabilities when it is installed so, and loads programs.c.
$B/pagek-levels: $B/src/stress/ebpf/pagek-levels.o
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $$(pkg-config --libs libbpf)

$B/src/stress/ebpf/pagek-levels.o: $B/src/stress/ebpf/programs.o
$B/src/stress/ebpf/pagek-levels.o: REQUIRED += \
	-DPAGEK_EBPF_OBJECT='"$(abspath $B)/src/stress/ebpf/programs.o"'

$B/src/stress/ebpf/programs.o: src/stress/ebpf/programs.c src/stress/ebpf/ebpf.h
	@mkdir -p $(@D)
	$(EBPF_CC) -target bpf -O2 -g -Wall -Wextra -Wno-unused-parameter \
		-I/usr/include/$$($(CC) -print-multiarch) -c -o $@ $<

$(ARCHIVE): $(ROOM_OBJS)
	rm -f $@ && $(AR) rcs $@ $^

$B/src/export/pprof.o: REQUIRED += $(PPROF_CFLAGS) -I$B/src/export
$B/src/export/pprof.o: $(PPROF:=.h)

$B/%.pb-c.c $B/%.pb-c.h: %.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=$(<D) --c_out=$(@D) $<

$B/%.pb-c.o: $B/%.pb-c.c
	$(CC) -std=c17 -w $(PPROF_CFLAGS) $(SANFLAGS) $(CFLAGS) -c -o $@ $<

# The core of memory debug data on Linux; a debugger finds it in a stripped library.
MDD_LINUX = -DMDD_DEBUGDATA=1 -DMDD_PORT_TICKS=1 -DMDD_PORT_THREADS=1 \
	-DMDD_PORT_STACK=1 -DMDD_SHARDS=64 \
	-D'MDD_PUBLIC=__attribute__((visibility("protected")))' \
	-D'MDD_LARGE=__attribute__((section(".bss.zz")))'

# The target side imports little of libc (src/alloclog/imports) and exports only the
# functions that interpose.  Its table of symbols is written to (operators.c), so it
# lies apart from the code.  The data that each process touches lie together, before the
# arrays in .bss.zz, because each further page costs each program a page fault.
PIC_FLAGS = -std=c17 -D_GNU_SOURCE $(WARNINGS) -fPIC -fexceptions \
	-fvisibility=hidden -ftls-model=initial-exec -fno-builtin \
	-fno-stack-protector -U_FORTIFY_SOURCE \
	-foptimize-sibling-calls -fdata-sections -DPAGEK_VERSION='"$(VERSION)"' \
	$(MDD_LINUX)
# Its hooks end in jumps, which are calls with -Og, and with clang's -O1: then
# each block's caller would be a hook.
PIC_CFLAGS = $(patsubst -Og,-O2,$(patsubst -O1,-O2,$(patsubst -O,-O2,$(CFLAGS))))

# A libc of nothing but what the library may need: so its needs have no symbol
# versions, and it loads under any libc.
$B/pic/imports/libc.so.6: src/alloclog/imports
	@mkdir -p $(@D)
	sed -n 's/^\(always\|other\)\t\([a-z_]*\).*/void \2(void) {}/p' $< | \
		$(CC) -w -fno-builtin -fPIC -shared -nostdlib \
		-Wl,-soname,libc.so.6 -o $@ -x c -

$B/liballoclog.so: $(PIC_OBJS) $B/pic/imports/libc.so.6
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -nostdlib \
		-Wl,-soname,liballoclog.so.0 \
		-Wl,-z,now,-z,nodelete,-z,separate-code,--no-undefined \
		-Wl,--sort-section=name \
		-o $@ $^ -lgcc

$B/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(REQUIRED) $(CFLAGS) $(LEVEL) -MMD -MP -c -o $@ $<

# A program's own assembler may call malloc on a stack that is aligned to 8
# only, and live.  The hooks themselves must not realign theirs: what lies at
# their frame address is where a walk begins; unwind.c does so where it is rare.
REALIGN := $(shell $(CC) -mincoming-stack-boundary=3 -x c -c -o /dev/null \
	/dev/null 2>/dev/null && echo -mincoming-stack-boundary=3)
ORIGINS = $(addprefix src/alloclog/,hooks.c operators.c api.c unwind/unwind.c)
$(patsubst %.c,$B/pic/%.o,$(filter-out $(ORIGINS),$(ALLOCLOG))): \
	PIC_FLAGS += $(REALIGN)

$B/pic/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(PIC_FLAGS) $(PIC_CFLAGS) -MMD -MP -c -o $@ $<

# The data that a program keeps of its own blocks: C99, for firmware too.
MDD_TARGET = $(addprefix src/mdd/target/,core.c settings.c wrap.c wrap_cxx.c \
	port_linux.c)
MDD_HEADERS = $(addprefix src/mdd/target/,target.h layout.def functions.def)
MDD_FLAGS = -std=c99 -pedantic $(WARNINGS) -fexceptions -fPIC -fno-builtin \
	-fno-omit-frame-pointer $(MDD_LINUX)

$B/libmdd.a: $(MDD_TARGET:%.c=$B/mdd/%.o)
	rm -f $@ && $(AR) rcs $@ $^

$B/mdd/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(MDD_FLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Counts by type, linked into programs.
$B/libusage_xmemory.a: $B/usage/usage_xmemory.o
	rm -f $@ && $(AR) rcs $@ $^

$B/usage/%.o: src/usage/%.c
	@mkdir -p $(@D)
	$(CC) -std=c99 -D_GNU_SOURCE $(WARNINGS) -fPIC $(CFLAGS) -MMD -MP \
		-c -o $@ $<

$B/bench/usagebench: $B/libusage_xmemory.a

# Counters of references, read by other programs: nothing but libc.
$B/libpagek-refcnt.so: src/refcnt/pk_refcnt.c src/refcnt/pk_refcnt.h src/refcnt/rcb.h
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(WARNINGS) -fPIC \
		-fvisibility=hidden $(CFLAGS) $(LDFLAGS) -shared \
		-Wl,-soname,libpagek-refcnt.so.0 -Wl,-z,now,--no-undefined \
		-o $@ $<

# Linked tests: a program for each group of suites in tests/suites.def.
$B/tests/check_%.o: WARNINGS += -Wno-missing-prototypes

$(foreach s,$(SUITES),$(eval $B/tests/check_$(firstword $(subst :, ,$s)): \
	$B/tests/check_$(lastword $(subst :, ,$s)).o))

# Programs are linked anew when they are to hold other suites.
$B/tests/suites: FORCE
	@mkdir -p $(@D)
	@echo '$(SUITES)' | cmp -s - $@ || echo '$(SUITES)' >$@
FORCE:

$(CHECKS): $B/tests/check_main.o $(PRODUCE:%.c=$B/%.o) $(ARCHIVE) \
	$B/tests/suites
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		$(ARCHIVE) $(LIBS) $(DW_LIBS) $(PPROF_LIBS) \
		$(shell pkg-config --libs check 2>/dev/null)

# One suite: make test T=order.
test: $(patsubst %:$T,$B/tests/check_%,$(filter %:$T,$(SUITES))) $B/pagek-symbols
	$(if $(filter %:$T,$(SUITES)),$< $T,$(error no suite '$T': see tests/suites.def))

# A function of the program's that a library is to find.
$B/tests/targets/peculiar: TARGET_FLAGS = -rdynamic
$B/tests/targets/limits: TARGET_FLAGS = -Wl,-z,now

# Small programs that tests watch.
$B/tests/targets/%: tests/targets/%.c $(wildcard tests/targets/*.h)
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O1 -g -fno-builtin $(TARGET_FLAGS) \
		-o $@ $< -pthread -ldl

$B/tests/targets/%: tests/targets/%.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O1 -g -fno-builtin -o $@ $< -pthread

include tests/targets/chains/chains.mk
include tests/targets/plugins/plugins.mk
include tests/targets/mdd/mdd.mk

checks: $(CHECKS) $B/pagek-symbols
targets: $(TARGETS_C) $(TARGETS_CXX) $B/tests/libcount.so $B/tests/libcut.so $B/bench/load \
	$B/tests/capture/sums $B/tests/capture/write_capture $B/tests/refcnt/counts \
	usual-chains \
	$(MDD_SELF) $(PLUGINS) $B/bench/counted $B/tests/libstackcheck.so

$B/tests/libcount.so $B/tests/libcut.so: $B/tests/lib%.so: tests/count/%.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fPIC -fno-builtin \
		-ftls-model=initial-exec -shared -o $@ $< -ldl

# What a capture or a trace of references holds, for tests.
$B/tests/capture/sums $B/tests/refcnt/counts: $B/tests/%: tests/%.c $(ARCHIVE)
	@mkdir -p $(@D)
	$(CC) $(REQUIRED) $(CFLAGS) -o $@ $^ $(LIBS) $(DW_LIBS)

# Writes captures for the live tests.
$B/tests/capture/write_capture: $B/tests/capture/write_capture.o \
		$(PRODUCE:%.c=$B/%.o) $(ARCHIVE)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(DW_LIBS) $(PPROF_LIBS)

# The capture of stacks itself, beside a full unwind.
STACKCHECK_OBJS = $(UNWIND:%.c=$B/pic/%.o) \
	$B/pic/tests/stackcheck/stackcheck.o
LIBUNWIND := $(shell pkg-config --exists libunwind 2>/dev/null && echo 1)

$B/pic/tests/stackcheck/stackcheck.o: PIC_FLAGS += $(LIBUNWIND:1=-DHAVE_LIBUNWIND)

$B/tests/libstackcheck.so: $(STACKCHECK_OBJS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -shared -o $@ $^ -ldl -pthread $(LIBUNWIND:1=-lunwind)

$B/bench/load $B/bench/steady: $B/bench/%: bench/%.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer \
		-fno-builtin -o $@ $< -pthread

# JudyL is beside the block list where it is installed.
HAVE_JUDY := $(shell printf '\043include <Judy.h>\n' | \
	$(CC) -E - >/dev/null 2>&1 && echo 1)
$B/bench/listbench: BENCH_FLAGS = $(HAVE_JUDY:1=-DHAVE_JUDY)
$B/bench/listbench: BENCH_LIBS = $(HAVE_JUDY:1=-lJudy)
$B/bench/listbench: bench/list_trace.h bench/list_judy.h

# What bench/run starts programs by, and a peer's switch.
$B/bench/timed: bench/timed.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -o $@ $<

$B/bench/libtimes.so: bench/times.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fPIC -shared -o $@ $<

$B/bench/libbare.so: bench/peers/bare.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fPIC -shared -o $@ $<

# With the six around them 23: sampled the library has 18 for an event, dormant 8.
IDLE = 17
$B/bench/libidle.so: bench/peers/bare.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fPIC -DIDLE=$(IDLE) -shared \
		-o $@ $<

$B/bench/libmtrace.so: bench/peers/mtrace.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O2 -g -fPIC -shared -o $@ $< \
		-l:libc_malloc_debug.so.0

# What a program pays that lives for no time, and one beside a busy core.
$B/bench/start $B/bench/burn: $B/bench/%: bench/%.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -o $@ $<

# What a ring and the block list cost on their own; run by hand.
$B/bench/%: bench/%.c $(PRODUCE:%.c=$B/%.o) $(ARCHIVE)
	@mkdir -p $(@D)
	$(CC) $(REQUIRED) $(BENCH_FLAGS) $(CFLAGS) -o $@ \
		$(filter-out %.h,$^) $(LIBS) $(BENCH_LIBS)

microbench: $B/bench/ringbench $B/bench/listbench $B/bench/capturebench

# Fuzzers, linked as the tests are, with what the sanitizers of this build find:
# -replay feeds files to the target, -fuzz looks for new ones.
FUZZERS = $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_OBJS = $(PRODUCE:%.c=$B/%.o) $(ARCHIVE)
SECONDS_EACH ?= 60

$B/fuzz/%-replay.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(CC) $(REQUIRED) $(CFLAGS) -DREPLAY -MMD -MP -c -o $@ $<

$B/fuzz/%-replay: $B/fuzz/%-replay.o $(FUZZ_OBJS)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(DW_LIBS) $(PPROF_LIBS)

corpus-replay: $(FUZZERS:%=$B/fuzz/%-replay) $B/pagek-symbols

$B/fuzz/%-fuzz: $B/tests/fuzz/%.o $(FUZZ_OBJS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=fuzzer,address,undefined -o $@ $^ \
		$(LIBS) $(DW_LIBS) $(PPROF_LIBS)

$B/fuzz/seed_%: $B/tests/fuzz/seed_%.o $(FUZZ_OBJS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(DW_LIBS) $(PPROF_LIBS)

# Writes the stored corpus anew, from the samples of the tests.
corpus-seed: $B/fuzz/seed_wire $B/fuzz/seed_cfi $B/fuzz/seed_ring \
		$B/fuzz/seed_capture $B/fuzz/seed_refcnt
	$B/fuzz/seed_wire tests/corpus/wire
	$B/fuzz/seed_cfi tests/corpus/cfi
	$B/fuzz/seed_ring tests/corpus/ring
	$B/fuzz/seed_capture tests/corpus/capture
	$B/fuzz/seed_refcnt tests/corpus/refcnt
	tests/fuzz/seed_symbol tests/corpus/symbol
	tests/fuzz/seed_table tests/corpus/table
	tests/fuzz/seed_config tests/corpus/config
	tests/fuzz/seed_filter tests/corpus/filter
	tests/fuzz/seed_history tests/corpus/history
	tests/fuzz/seed_mddout tests/corpus/mddout
	tests/fuzz/seed_mddcore tests/corpus/mddcore
	tests/fuzz/seed_raw tests/corpus/raw
	tests/fuzz/seed_settings tests/corpus/settings
	tests/fuzz/seed_kept tests/corpus/kept
	tests/fuzz/seed_saved tests/corpus/saved
	tests/fuzz/seed_references tests/corpus/references
	tests/fuzz/seed_stress tests/corpus/stress
	tests/fuzz/seed_usage tests/corpus/usage

# Its objects are made to be followed, in a folder of their own.
FUZZ ?= fuzz_wire
F = $B/followed
fuzz:
	@$(MAKE) -s B=$F CC=clang SANITIZE=fuzzer-no-link,address,undefined \
		$F/fuzz/$(FUZZ)-fuzz $F/pagek-symbols
	@mkdir -p $F/fuzz/$(FUZZ)-new
	$F/fuzz/$(FUZZ)-fuzz -max_total_time=$(SECONDS_EACH) -max_len=65536 \
		$F/fuzz/$(FUZZ)-new tests/corpus/$(FUZZ:fuzz_%=%)

# The two commands of the README, and their longer sisters.
TARGET ?= env PYTHONMALLOC=malloc python3 examples/records.py
run:
	@tests/need run
	@$(MAKE) -s -j2 all
	@$B/pagek run $(PAGEK_ARGS) -- $(TARGET)

check:
	@tests/need check
	@tests/check short

check-long:
	@tests/need check-long
	@tests/check long

# Ten minutes; the second one takes every peer, and much longer.
BENCHES = $(patsubst bench/%.c,$B/bench/%,$(filter-out bench/times.c,\
	$(sort $(wildcard bench/*.c)))) $B/bench/libtimes.so $B/bench/libbare.so \
	$B/bench/libidle.so $B/bench/libmtrace.so
benches: $(BENCHES)

bench:
	@tests/need bench
	@$(MAKE) -s -j2 all benches
	@bench/run

bench-full:
	@tests/need bench-full
	@$(MAKE) -s -j2 all benches
	@bench/run --full

# Instructions per event against the figures that are kept, and new ones; and those of
# heapstress's module.
regress: all targets
	@tests/instructions
	@sh tests/live/long_heapstress.sh cost

regress-update: all targets
	@tests/instructions --update

# Of the page, for the README.
pictures: all
	@doc/pictures

man-lint:
	mandoc -Tlint -Wwarning $(wildcard man/*.[1-8])

# Installed, not enabled: that is for the administrator.
UNITS = system/pageknode.service system/pageknode.socket \
	system/pageknode-targets.socket user/pageknode.service \
	user/pageknode.socket

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR) \
		$(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(PREFIX)/include
	install -m 755 $B/pagek $(DESTDIR)$(BINDIR)
	ln -sf pagek $(DESTDIR)$(BINDIR)/ecosmdd
	install -m 755 $B/pageknode $B/pagek-symbols $(LEVELS) \
		$(DESTDIR)$(LIBEXECDIR)
	ln -sf $(LIBEXECDIR)/pageknode $(DESTDIR)$(BINDIR)/pageknode
	$(if $(PRELOAD),install -m 644 $(PRELOAD) $(DESTDIR)$(LIBDIR))
	$(if $(PRELOAD),ln -sf liballoclog.so \
		$(DESTDIR)$(LIBDIR)/liballoclog.so.0)
	$(if $(PRELOAD),install -m 644 src/alloclog/alloclog.h \
		$(DESTDIR)$(PREFIX)/include)
	install -d $(DESTDIR)$(PREFIX)/include/mdd $(DESTDIR)$(DATADIR)
	install -m 644 $B/libmdd.a $B/libusage_xmemory.a $(DESTDIR)$(LIBDIR)
	install -m 644 src/usage/usage_xmemory.h $(DESTDIR)$(PREFIX)/include
	install -d $(DESTDIR)$(PCDIR)
	install -m 644 $B/libpagek-refcnt.so $(DESTDIR)$(LIBDIR)/libpagek-refcnt.so.0
	ln -sf libpagek-refcnt.so.0 $(DESTDIR)$(LIBDIR)/libpagek-refcnt.so
	install -m 644 src/refcnt/pk_refcnt.h $(DESTDIR)$(PREFIX)/include
	for p in $(if $(PRELOAD),alloclog) usage_xmemory pagek-refcnt; do \
		sed 's,@PREFIX@,$(PREFIX),; s,@VERSION@,$(VERSION),' \
			dist/$$p.pc.in >$(DESTDIR)$(PCDIR)/$$p.pc && \
		chmod 644 $(DESTDIR)$(PCDIR)/$$p.pc || exit 1; done
	install -m 644 $(MDD_HEADERS) $(DESTDIR)$(PREFIX)/include/mdd
	install -m 644 share/mdd.* share/refcnt_qemu.c $(DESTDIR)$(DATADIR)
	for m in man/*.[1-8]; do \
		d=$(DESTDIR)$(MANDIR)/man$${m##*.}; \
		install -d $$d && install -m 644 $$m $$d; done
	install -d $(DESTDIR)$(UNITDIR)/system $(DESTDIR)$(UNITDIR)/user \
		$(DESTDIR)$(SYSUSERSDIR)
	for u in $(UNITS); do \
		sed 's,@LIBEXECDIR@,$(LIBEXECDIR),' dist/$${u#system/} \
			>$(DESTDIR)$(UNITDIR)/$$u && \
		chmod 644 $(DESTDIR)$(UNITDIR)/$$u || exit 1; done
	install -m 644 dist/pagek.sysusers \
		$(DESTDIR)$(SYSUSERSDIR)/pagek.conf
	install -d $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) \
		$(DESTDIR)$(FISHDIR)
	for c in bash:$(BASHDIR)/pagek zsh:$(ZSHDIR)/_pagek \
		fish:$(FISHDIR)/pagek.fish; do \
		$B/pagek completion --no-config $${c%%:*} \
			>$(DESTDIR)$${c#*:} && \
		chmod 644 $(DESTDIR)$${c#*:} || exit 1; done

uninstall:
	rm -f $(DESTDIR)$(BASHDIR)/pagek $(DESTDIR)$(ZSHDIR)/_pagek \
		$(DESTDIR)$(FISHDIR)/pagek.fish
	rm -f $(UNITS:%=$(DESTDIR)$(UNITDIR)/%) \
		$(DESTDIR)$(SYSUSERSDIR)/pagek.conf
	rm -f $(DESTDIR)$(BINDIR)/pagek $(DESTDIR)$(BINDIR)/ecosmdd \
		$(DESTDIR)$(BINDIR)/pageknode \
		$(DESTDIR)$(LIBEXECDIR)/pageknode \
		$(DESTDIR)$(LIBEXECDIR)/pagek-symbols \
		$(DESTDIR)$(LIBEXECDIR)/pagek-levels \
		$(DESTDIR)$(LIBDIR)/liballoclog.so \
		$(DESTDIR)$(LIBDIR)/liballoclog.so.0 \
		$(DESTDIR)$(PREFIX)/include/alloclog.h \
		$(DESTDIR)$(PREFIX)/include/usage_xmemory.h \
		$(DESTDIR)$(PREFIX)/include/pk_refcnt.h \
		$(DESTDIR)$(LIBDIR)/libpagek-refcnt.so \
		$(DESTDIR)$(LIBDIR)/libpagek-refcnt.so.0 \
		$(DESTDIR)$(PCDIR)/pagek-refcnt.pc \
		$(DESTDIR)$(PCDIR)/alloclog.pc \
		$(DESTDIR)$(PCDIR)/usage_xmemory.pc \
		$(DESTDIR)$(LIBDIR)/libusage_xmemory.a \
		$(DESTDIR)$(LIBDIR)/libmdd.a $(DESTDIR)$(DATADIR)/mdd.* \
		$(DESTDIR)$(DATADIR)/refcnt_qemu.c \
		$(MDD_HEADERS:src/mdd/target/%=$(DESTDIR)$(PREFIX)/include/mdd/%)
	for m in man/*.[1-8]; do \
		rm -f $(DESTDIR)$(MANDIR)/man$${m##*.}/$${m#man/}; done

clean:
	rm -rf build

.PHONY: all bench bench-full check check-long checks clean corpus-replay \
	benches corpus-seed fuzz install man-lint microbench pictures regress regress-update \
	run targets uninstall
-include $(shell find $B -name '*.d' -type f 2>/dev/null)
