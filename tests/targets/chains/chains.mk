# Programs that know their own call chains, each in variants that differ in the
# data that an unwinder and a reader of symbols find:
#	build/tests/chains/VARIANT/PROGRAM
# Included by the Makefile.  `make targets` builds the variants of CHAINS_USUAL,
# `make chains` all of them.

CHAINS_DIR = tests/targets/chains
CHAINS_C = plain signal threads garbage plugins defeat
CHAINS_CXX = cxx

# VARIANT: compiler, flags.  "debuglink" is stripped, its symbols and lines
# lie beside it; "bare" has neither lines nor local symbols.  Segments of "gaps"
# lie apart, as those of programs that ask for large pages do.  CHAINS_USUAL:
# unwind tables alone, symbols apart, and another compiler with frame pointers.
CHAINS_USUAL = gcc-O2 gcc-debuglink clang-O0
CHAINS_VARIANTS = gcc-O0 gcc-O0-nofp gcc-O2 gcc-O2-fp gcc-nopie gcc-gaps \
	gcc-nopie-gaps gcc-debuglink gcc-nodebug gcc-bare clang-O0 clang-O2 \
	clang-O2-fp clang-nopie

CHAINS_FLAGS_gcc-O0 = gcc g++ -O0 -g
CHAINS_FLAGS_gcc-O0-nofp = gcc g++ -O0 -g -fomit-frame-pointer
CHAINS_FLAGS_gcc-O2 = gcc g++ -O2 -g
CHAINS_FLAGS_gcc-O2-fp = gcc g++ -O2 -g -fno-omit-frame-pointer
CHAINS_FLAGS_gcc-nopie = gcc g++ -O2 -g -fno-pie
CHAINS_FLAGS_gcc-gaps = gcc g++ -O2 -g -Wl,-z,max-page-size=0x10000
CHAINS_FLAGS_gcc-nopie-gaps = gcc g++ -O2 -g -fno-pie -Wl,-z,max-page-size=0x200000
CHAINS_FLAGS_gcc-debuglink = gcc g++ -O2 -g
CHAINS_FLAGS_gcc-nodebug = gcc g++ -O2 -g0
CHAINS_FLAGS_gcc-bare = gcc g++ -O2 -g0 -s
CHAINS_FLAGS_clang-O0 = clang clang++ -O0 -g
CHAINS_FLAGS_clang-O2 = clang clang++ -O2 -g
CHAINS_FLAGS_clang-O2-fp = clang clang++ -O2 -g -fno-omit-frame-pointer
CHAINS_FLAGS_clang-nopie = clang clang++ -O2 -g -fno-pie

CHAINS_COMMON = -D_GNU_SOURCE -Wall -Wextra
chains_of = $(foreach v,$1,$(addprefix $B/tests/chains/$v/, \
	$(CHAINS_C) $(CHAINS_CXX) libchain_a.so libchain_b.so))

chains_cc = $(word 1,$(CHAINS_FLAGS_$1)) -std=c17 $(CHAINS_COMMON)
chains_cxx = $(word 2,$(CHAINS_FLAGS_$1)) -std=c++17 $(CHAINS_COMMON)
chains_flags = $(wordlist 3,9,$(CHAINS_FLAGS_$1))
chains_link = $(if $(filter -fno-pie,$(chains_flags)),-no-pie) -rdynamic -pthread -ldl

# Takes names and lines out of a program and leaves word of where they are.
chains_finish = $(if $(filter %debuglink,$1), \
	cd $(dir $2) && objcopy --only-keep-debug $(notdir $2) $(notdir $2).debug && \
	strip $(notdir $2) && \
	objcopy --add-gnu-debuglink=$(notdir $2).debug $(notdir $2))

define chains_rules
$B/tests/chains/$1/chain.o: $(CHAINS_DIR)/chain.c $(CHAINS_DIR)/chain.h
	@mkdir -p $$(@D)
	$(call chains_cc,$1) $(call chains_flags,$1) -c -o $$@ $$<

$(CHAINS_C:%=$B/tests/chains/$1/%): $B/tests/chains/$1/%: $(CHAINS_DIR)/%.c $B/tests/chains/$1/chain.o
	$(call chains_cc,$1) $(call chains_flags,$1) -o $$@ $$^ $(call chains_link,$1)
	$$(call chains_finish,$1,$$@)

$(CHAINS_CXX:%=$B/tests/chains/$1/%): $B/tests/chains/$1/%: $(CHAINS_DIR)/%.cc $B/tests/chains/$1/chain.o
	$(call chains_cxx,$1) $(call chains_flags,$1) -o $$@ $$^ $(call chains_link,$1)
	$$(call chains_finish,$1,$$@)

$B/tests/chains/$1/libchain_%.so: $(CHAINS_DIR)/plugin.c $(CHAINS_DIR)/chain.h
	@mkdir -p $$(@D)
	$(call chains_cc,$1) $(filter-out -fno-pie,$(call chains_flags,$1)) -fPIC -shared \
		-DPLUGIN=$$* -o $$@ $$<
	$$(call chains_finish,$1,$$@)
endef
$(foreach v,$(CHAINS_VARIANTS),$(eval $(call chains_rules,$v)))

chains: $(call chains_of,$(CHAINS_VARIANTS))
usual-chains: $(call chains_of,$(CHAINS_USUAL))
.PHONY: chains usual-chains
