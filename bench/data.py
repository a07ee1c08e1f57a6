#!/usr/bin/env python3
"""data.py FOLDER: inputs for the real programs of bench/run, always the same.

in.sql	a table of 300,000 rows in memory, an index, a few queries
in.json	about 10 MB of records
in.c	3,000 functions for the compiler
reader.py	reads and writes in.json, twice
many/	30 small C files, which many.mk compiles into the folder OUT
configure	a script of autoconf's kind: it asks the compiler for one header after the
	other, in the folder that it is given
small/	the same, a tenth of each, for tools that are slow
"""
import json
import os
import random
import sys

ROWS = 300000
RECORDS = 62000
FUNCTIONS = 3000
FILES = 30
FILE_FUNCTIONS = 10
HEADERS = 40
TENTH = 10

SQL = """CREATE TABLE item(id INTEGER PRIMARY KEY, bucket INTEGER, label TEXT, weight REAL);
BEGIN;
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
INSERT INTO item SELECT i, (i * 6007) %% 9973, printf('item-%%07d-%%s', (i * 15485863) %% 899981, hex(i)), i / 3.0 FROM n;
COMMIT;
CREATE INDEX by_bucket ON item(bucket, label);
SELECT count(*), sum(weight) FROM item WHERE bucket BETWEEN 200 AND 4000;
SELECT bucket, group_concat(substr(label, 1, 10)) FROM item GROUP BY bucket ORDER BY max(weight) DESC LIMIT 4;
SELECT count(DISTINCT label) FROM item;
SELECT count(*) FROM (SELECT lower(label) || '-' AS l FROM item ORDER BY l LIMIT 150000);
"""

READER = """import json, sys
with open(sys.argv[1]) as f:
    text = f.read()
for _ in range(2):
    text = json.dumps(json.loads(text))
"""

LOOP = """int step%(i)d(int x, struct node *p)
{
	int sum = x * %(k)d;
	double d = p ? p->weight : 1.0;

	for (int i = 0; i < %(n)d; i++) {
		switch (sum %% 5) {
		case 0: d *= i; break;
		case 1: p->left = sum; break;
		case 2: sum ^= %(k)d; break;
		default: sum += elsewhere(i, p->next);
		}
	}
	return sum + (int)d%(call)s;
}
"""

PLAIN = """int step%(i)d(int x, struct node *p)
{
	int sum = x - %(k)d;

	if (sum < p->right)
		sum += p->left * %(n)d;
	else
		p->weight -= sum;
	return sum%(call)s;
}
"""


MANY = """SOURCES := $(wildcard $(IN)/*.c)
all: $(SOURCES:$(IN)/%.c=$(OUT)/%.o)
$(OUT)/%.o: $(IN)/%.c
	gcc -O1 -c -o $@ $<
"""

CONFIGURE = """cd "$1" || exit 1
rm -f confdefs.h config.log
for name in %s; do
	rm -f conftest.o conftest.err
	cat >conftest.c <<EOF
#include <$name>
int main(void) { return 0; }
EOF
	if gcc -c conftest.c >/dev/null 2>conftest.err; then
		found=yes
	else
		grep -v '^ *+' conftest.err >>config.log
		found=no
	fi
	symbol=`echo "HAVE_$name" | sed 'y%%abcdefghijklmnopqrstuvwxyz%%ABCDEFGHIJKLMNOPQRSTUVWXYZ%%;s%%[^_A-Z0-9]%%_%%g'`
	if expr "x$found" : 'xy' >/dev/null; then
		echo "#define $symbol 1" >>confdefs.h
	fi
	echo "checking for $name... $found" >>config.log
done
sort confdefs.h | uniq >config.h
rm -f conftest.*
"""
# Every fourth one is not there.
NAMES = ("stdio.h", "stdlib.h", "string.h", "no/such%d.h", "unistd.h", "fcntl.h", "errno.h", "no/such%d.h", "signal.h",
         "time.h", "sys/stat.h", "no/such%d.h")


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as f:
        f.write(text)


def records(r, n):
    for i in range(n):
        yield {"id": i, "owner": "person%05d" % r.randrange(90000), "weight": r.random() * 100,
               "labels": ["l%d" % r.randrange(700) for _ in range(r.randrange(1, 7))],
               "inner": {"a": r.randrange(10**8), "b": None, "c": i % 3 == 0}}


def functions(r, n):
    yield "struct node { int left, right; double weight; struct node *next; char name[24]; };\n"
    yield "extern int elsewhere(int, struct node *);\n"
    for i in range(n):
        k = r.randrange(1, 1500)
        yield (LOOP if i % 20 == 0 else PLAIN) % {
            "i": i, "k": k, "n": k % 37 + 2, "call": " + step%d(sum, p)" % r.randrange(i) if i else ""}


def inputs(folder, part):
    r = random.Random(20040713)
    os.makedirs(folder, exist_ok=True)
    write(folder, "in.sql", SQL % (ROWS // part))
    write(folder, "in.json", json.dumps(list(records(r, RECORDS // part))))
    write(folder, "in.c", "".join(functions(r, FUNCTIONS // part)))
    os.makedirs(folder + "/many", exist_ok=True)
    for i in range(FILES // part):
        write(folder, "many/%02d.c" % i, "".join(functions(r, FILE_FUNCTIONS)))
    write(folder, "many.mk", MANY)
    write(folder, "reader.py", READER)
    names = [NAMES[i % len(NAMES)] for i in range(HEADERS // part)]
    write(folder, "configure", CONFIGURE % " ".join(n.replace("%d", str(i)) for i, n in enumerate(names)))


def main():
    inputs(sys.argv[1], 1)
    inputs(os.path.join(sys.argv[1], "small"), TENTH)


main()
