"""Everything that bench/run does, made small: whether it works, in some
two minutes.  No figure of such a run means anything, and the table says so."""
import growth
import loads
import parts

WARNING = "**Tried, not measured: `--try` makes everything too small for its figures to mean anything.**"


def make_small():
    """Before anything runs."""
    loads.WHOLE = loads.SMALL
    loads.REDIS_REQUESTS //= 100
    for load in loads.LOADS:
        load.count //= 100
    parts.NAMES = 100
    parts.STARTS, parts.START_ROUNDS = 5, 1
    parts.CAPTURE_ARGS = ["-e", "1"]
    parts.LIST_ARGS = ["-e", "1"]		# millions of events
    parts.TOUCHED_MB = 16
    parts.TOUCH_ROUNDS = 1
    parts.PAGE_ARGS = ["--brief"]
    growth.LIVE_QUICK = (10, 1000)
    growth.THREADS = (1, growth.RING_THREADS)
    growth.PAIRS //= 100
    growth.WATCHED_S = 1
