"""completion.py SCRIPT LINE...: what a real bash completes each line to.

An interactive bash on a terminal of its own reads SCRIPT and is typed LINE;
instead of choosing it is asked to insert all possible completions
(insert-completions), and the line that it then has is written to a file.  One
line of output for each LINE: the words that were inserted in the place of the
last one.
"""
import os
import pty
import select
import sys
import tempfile
import time

script, lines = sys.argv[1], sys.argv[2:]
out = tempfile.mktemp()
pid, tty = pty.fork()
if pid == 0:
    os.environ.update(PS1="$ ", TERM="dumb", out=out, HISTFILE="")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])


def drain(seconds):
    while select.select([tty], [], [], seconds)[0]:
        try:
            if not os.read(tty, 65536):
                return
        except OSError:
            return


def say(text):
    os.write(tty, text.encode())
    drain(0.02)


def await_file():
    for _ in range(400):
        if os.path.exists(out):
            with open(out) as f:
                text = f.read()
            if text.endswith("\n"):
                os.unlink(out)
                return text
        drain(0.05)
    sys.exit("bash does not answer")


# What is typed is not echoed: nothing waits for a reader of it.
say("stty -echo; bind 'set horizontal-scroll-mode on'\n")
say("bind '\"\\e*\": insert-completions'\n")
say("bind -x '\"\\C-xp\": printf \"%s\\n\" \"$READLINE_LINE\" >$out.new; "
    "mv $out.new $out'\n")
say(". '%s'\n" % script)
say("echo >$out\n")
await_file()
for line in lines:
    say(line)
    say("\x1b*")
    say("\x18p")
    text = await_file().rstrip("\n")
    # Up to the last blank, '=' or ':' it is as it was typed.
    typed = max(line.rfind(c) for c in " =:") + 1
    print(text[typed:].strip())
    say("\x15")
say("\x04")
time.sleep(0)
os.close(tty)
os.waitpid(pid, 0)
