# A program that is linked with libmdd.a: build/tests/mdd/self, self-static and
# self-stripped.  Included by the Makefile.
MDD_SELF = $(addprefix $B/tests/mdd/,self self-static self-stripped)
MDD_SELF_FLAGS_self-static = -static
MDD_SELF_FLAGS_self-stripped = -s -no-pie

$(MDD_SELF): tests/targets/mdd/self.c $B/libmdd.a share/mdd.wrap
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O1 -g -fno-builtin -Wall -Wextra \
		$(MDD_SELF_FLAGS_$(@F)) -o $@ $< $B/libmdd.a @share/mdd.wrap \
		-pthread
