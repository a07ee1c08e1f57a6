"""What is run under the tools: loads that are nothing but allocation
(bench/load.c), and real programs on the inputs of bench/data.py.

A workload makes a Job for a tenth or a hundredth of its events when a slow tool
asks for it; it is then compared with a plain run of the same part.
"""
import os
import re
import shutil
import subprocess
import time

from job import B, TOP, Failed, Job

DATA = os.path.join(B, "bench", "data")
WHOLE, SMALL = DATA, DATA + "/small"	# inputs of a program, and of one under a slow tool
REDIS_REQUESTS = 300000
CONNECT_S = 10


class Load:
    """ns per event are of the loop, per thread, as the load itself says."""

    is_program = False

    def __init__(self, name, what, count, threads=1):
        self.name, self.what, self.count, self.threads = name, what, count, threads

    def job(self, tmp, part):
        return Job(tmp, [B + "/bench/load", self.what, str(self.count // part), str(self.threads)], "load")

    @staticmethod
    def figures(job, result):
        m = re.search(r"ns_per_event=([\d.]+)", result.output)
        if not m:
            raise Failed("the load printed nothing")
        return {"ns": float(m[1])}


class Program:
    """Seconds of wall and of user time, of the program itself; asleep: what is
    between them, waiting for a full ring or for a core."""

    is_program = True

    def __init__(self, name, allocator="libc.so.6"):
        self.name, self.allocator = name, allocator

    def command(self, tmp, data, part):
        """(arguments, the name that the process goes by, its environment)"""
        if self.name == "sqlite":
            return ["sqlite3", ":memory:", ".read %s/in.sql" % data], "sqlite3", {}
        if self.name == "jsonm":
            python = os.path.realpath(shutil.which("python3"))
            return [python, data + "/reader.py", data + "/in.json"], os.path.basename(python), \
                {"PYTHONMALLOC": "malloc"}
        cc1 = subprocess.check_output(["gcc", "-print-prog-name=cc1"], text=True).strip()
        return [cc1, "-quiet", "-O1", data + "/in.c", "-o", "/dev/null"], "cc1", {}

    def job(self, tmp, part):
        argv, name, env = self.command(tmp, WHOLE if part == 1 else SMALL, part)
        return Job(tmp, argv, name, env, self.allocator)

    @staticmethod
    def figures(job, result):
        return {"wall": result.wall, "user": result.user, "system": result.system,
                "asleep": max(0.0, result.wall - result.user - result.system)}


class Redis(Program):
    """Wall is what the clients took."""

    def __init__(self):
        super().__init__("redis", "libjemalloc.so.2")

    def job(self, tmp, part):
        binary = shutil.which("redis-check-rdb")
        if binary is None:
            raise Failed("redis-check-rdb is not installed")
        # The server's binary goes by this name when it is called by it.
        os.symlink(binary, tmp + "/redis-server")
        job = Job(tmp, [tmp + "/redis-server", "--port", "0", "--unixsocket", tmp + "/redis.sock", "--save", "",
                        "--dir", tmp], "redis-server", {}, self.allocator,
                  beside=lambda job, wait: self.clients(job, wait, REDIS_REQUESTS // part))
        return job

    @staticmethod
    def to_its_end(proc, wait, limit):
        until = time.monotonic() + limit
        while proc.poll() is None:
            if time.monotonic() > until:
                proc.kill()
                proc.wait()
                raise Failed("stopped after %d s" % limit)
            wait(0.01)

    def clients(self, job, wait, requests):
        sock = ["-s", job.tmp + "/redis.sock"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        until = time.monotonic() + CONNECT_S
        while subprocess.run(["redis-cli"] + sock + ["ping"], **quiet).returncode != 0:
            if time.monotonic() > until:
                raise Failed("the server was not to be reached")
            wait(0.02)
        client = Job(job.tmp, ["redis-benchmark"] + sock + [
            "-t", "set,lpush,hset", "-P", "16", "-d", "128", "-r", "100000", "-n", str(requests), "-q"],
            "redis-benchmark")
        client.times = job.tmp + "/clients"
        self.to_its_end(subprocess.Popen(client.timed(), **quiet), wait, job.limit)
        # A server under a slow tool may be long in answering this.
        self.to_its_end(subprocess.Popen(["redis-cli"] + sock + ["shutdown", "nosave"], **quiet), wait, job.limit)
        job.clients_wall = client.result().wall

    @staticmethod
    def figures(job, result):
        return {"wall": job.clients_wall, "user": result.user, "system": result.system}


LOADS = [Load("churn", "churn", 10000000), Load("churn2", "churn", 5000000, 2), Load("grow", "grow", 1000000),
         Load("larson", "larson", 3000000, 2)]
PROGRAMS = [Program("jsonm"), Redis(), Program("sqlite"), Program("cc1")]
WORKLOADS = {w.name: w for w in LOADS + PROGRAMS}


def make_data():
    if not os.path.exists(SMALL + "/configure"):
        subprocess.run([TOP + "/bench/data.py", DATA], check=True)
