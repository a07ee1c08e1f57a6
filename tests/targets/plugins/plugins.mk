# A program that is not C++ and plugins that are:
#	build/tests/plugins/host
#	build/tests/plugins/NAME.so
# Included by the Makefile.

PLUGINS_DIR = tests/targets/plugins
PLUGINS = $(addprefix $B/tests/plugins/,host keeps.so plain.so static.so waits.so \
	mine.so other.so brings.so needs.so early.so own arrays.so arrays_host \
	deep.so told_host)
PLUGIN_CXX = $(CXX) -std=c++17 -O1 -g -fno-builtin -fPIC -shared -Wall -Wextra

$B/tests/plugins/host: $(PLUGINS_DIR)/host.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O1 -g -o $@ $< -ldl

$B/tests/plugins/told_host: $(PLUGINS_DIR)/host.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -DTOLD -O1 -g -rdynamic -o $@ $< -ldl

# The same with a library that is there from the start.
$B/tests/plugins/arrays_host: $(PLUGINS_DIR)/host.c $B/tests/plugins/arrays.so
	$(CC) -std=c17 -D_GNU_SOURCE -O1 -g -o $@ $< -ldl -Wl,--no-as-needed \
		$B/tests/plugins/arrays.so '-Wl,-rpath,$$ORIGIN'

$B/tests/plugins/arrays.so: $(PLUGINS_DIR)/arrays.cc
	@mkdir -p $(@D)
	$(PLUGIN_CXX) -Wl,-soname,arrays.so,-z,now -nodefaultlibs -o $@ $< -lc

$B/tests/plugins/own: $(PLUGINS_DIR)/own.c $B/tests/plugins/early.so
	$(CC) -std=c17 -D_GNU_SOURCE -O1 -g -fno-builtin -rdynamic -o $@ $^ \
		'-Wl,-rpath,$$ORIGIN'

$B/tests/plugins/early.so: $(PLUGINS_DIR)/early.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O1 -g -fPIC -shared -Wl,-soname,early.so \
		-o $@ $< -ldl

$B/tests/plugins/deep.so: $(PLUGINS_DIR)/deep.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE -O1 -g -fno-builtin -fPIC -shared \
		-Wl,-z,lazy -o $@ $< -ldl

$B/tests/plugins/static.so: $(PLUGINS_DIR)/plain.cc
	@mkdir -p $(@D)
	$(PLUGIN_CXX) -static-libstdc++ -static-libgcc -o $@ $<

# Two of one size, so that one comes to lie where the other did.
$B/tests/plugins/mine.so: $(PLUGINS_DIR)/mine.cc
	@mkdir -p $(@D)
	$(PLUGIN_CXX) -DNUMBER=16 -o $@ $<

$B/tests/plugins/other.so: $(PLUGINS_DIR)/mine.cc
	@mkdir -p $(@D)
	$(PLUGIN_CXX) -DNUMBER=32 -o $@ $<

$B/tests/plugins/brings.so: $(PLUGINS_DIR)/mine.cc
	@mkdir -p $(@D)
	$(PLUGIN_CXX) -DNUMBER=16 -DBRINGS -o $@ $<

$B/tests/plugins/needs.so: $(PLUGINS_DIR)/needs.cc $B/tests/plugins/given.so
	$(PLUGIN_CXX) -o $@ $^ '-Wl,-rpath,$$ORIGIN'

$B/tests/plugins/given.so: $(PLUGINS_DIR)/given.cc
	@mkdir -p $(@D)
	$(PLUGIN_CXX) -Wl,-soname,libgiven.so.1 -o $@ $<
	ln -sf given.so $(@D)/libgiven.so.1

$B/tests/plugins/%.so: $(PLUGINS_DIR)/%.cc
	@mkdir -p $(@D)
	$(PLUGIN_CXX) -o $@ $< -pthread
