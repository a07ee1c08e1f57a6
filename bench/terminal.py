"""A page on a terminal of its own, for as long as a command runs under it."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

COLUMNS, LINES = 124, 30


class Terminal:
    """A program on a pty whose output is read, counted and thrown away."""

    def __init__(self, argv, env):
        self.fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.written = 0
        self.last = b""
        self.proc = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=env)
        os.close(slave)

    def read(self, seconds):
        """False when the program has closed its terminal."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            if left <= 0:
                return True
            if not select.select([self.fd], [], [], left)[0]:
                continue
            try:
                got = os.read(self.fd, 1 << 16)
            except OSError:
                return False
            if not got:
                return False
            self.written += len(got)
            self.last = (self.last + got)[-400:]

    def read_until(self, seconds, done, step=0.03):
        """True when done() came true in that time; looked at twice a cycle."""
        until = time.monotonic() + seconds
        while not done():
            if time.monotonic() > until or not self.read(step):
                return done()
        return True

    def end(self, key="q"):
        try:
            os.write(self.fd, key.encode())
        except OSError:
            pass
        self.read_until(5, lambda: self.proc.poll() is not None)
        if self.proc.poll() is None:
            os.killpg(self.proc.pid, signal.SIGKILL)
        self.proc.wait()
        os.close(self.fd)
