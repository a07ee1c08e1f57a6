"""What was found, as rows of goals and as tables in Markdown."""
import goals
from tools import TOOLS

WAITING_S = 0.02	# more of it than this is said


def rule(cells):
    return "| " + " | ".join(cells) + " |"


def head(cells):
    return [rule(cells), "|" + "---|" * len(cells)]


# --- goals ------------------------------------------------------------------------


def over_caller(runs):
    """What stacks cost over the caller alone, in ns of each event."""
    if not runs.workload.is_program:
        return runs.added("stack", "ns", "caller")
    return per_event(runs, "stack", "caller")


def per_event(runs, tool, base="plain"):
    """What a program's event costs more, in ns of its user time."""
    events = runs.median("caller", "events")
    added = runs.added(tool, "user", base)
    if not events or not added or runs.parts.get(tool, 1) != 1:
        return None
    return {k: v if k == "n" else v * 1e9 / events for k, v in added.items()}


def bytes_per_event(runs, tool):
    """Bytes per event of the file that the tool writes; events as pagek counts them."""
    size, events = runs.median(tool, "file_bytes", runs.parts.get(tool, 1)), runs.median("caller", "events")
    return size * runs.parts[tool] / events if size and events else None


def over_heaptrack(runs):
    """The time that recording adds, divided by the time that heaptrack's recording adds."""
    ours, theirs = runs.added("record", "ns"), runs.added("heaptrack-raw", "ns")
    if not ours or not theirs or theirs["low"] <= 0:
        return None
    return {"median": ours["median"] / theirs["median"], "low": ours["low"] / theirs["high"],
            "high": ours["high"] / theirs["low"], "n": min(ours["n"], theirs["n"])}


def of_files(found):
    """Bytes per event of the workload whose capture has most, and heaptrack's of the same."""
    sizes = [(bytes_per_event(r, "record"), r) for r in found.values() if "record" in r.names]
    if not sizes or not all(size for size, _ in sizes):
        return {}
    most, runs = max(sizes, key=lambda s: s[0])
    both = {"record bytes": most, "record bytes, heaptrack": bytes_per_event(runs, "heaptrack-raw")}
    return {key: {"median": v, "low": v, "high": v, "n": 1, "of": runs.workload.name}
            for key, v in both.items() if v}


def of_workloads(found):
    """{goal: value with its spread} of loads and programs."""
    values = {}
    for name, runs in found.items():
        figure = "wall" if runs.workload.is_program else "ns"
        how = runs.added if name in goals.GOALS and goals.GOALS[name].unit == "ns" else runs.ratio
        values[name] = how("caller", figure)
        values["stack " + name] = over_caller(runs)
        values["record " + name] = runs.ratio("record", "wall") if runs.workload.is_program else over_heaptrack(runs)
    values.update(of_files(found))
    for tool in ("sampled", "dormant"):
        loads = [(r.added(tool, "ns"), r) for r in found.values() if not r.workload.is_program]
        programs = [(r.ratio(tool, "wall"), r) for r in found.values() if r.workload.is_program]
        for key, spreads in ((tool + " load", loads), (tool + " program", programs)):
            # Without one of them it is not known which is the most.
            if spreads and all(s for s, _ in spreads):
                spreads = [dict(s, of=r.workload.name) for s, r in spreads]
                values[key] = max(spreads, key=lambda s: s["median"])
    return {key: value for key, value in values.items() if key in goals.GOALS and value}


def goal_rows(found, part_values, part_reasons, wanted):
    """part_values: {goal: number}; part_reasons: {goal: why}.  In the order of
    the goals; those that this run was not asked for are left out."""
    measured = of_workloads(found)
    reasons = {}
    for name, runs in found.items():
        reasons[name] = reasons["stack " + name] = runs.reasons.get("caller") or runs.reasons.get("stack")
        reasons["record " + name] = runs.reasons.get("record") or runs.reasons.get("heaptrack-raw")
        what = "program" if runs.workload.is_program else "load"
        for tool in ("sampled", "dormant"):
            if tool in runs.reasons:
                reasons[tool + " " + what] = "%s: %s" % (name, runs.reasons[tool])
    reasons.update(part_reasons)
    if any(runs.has_ours() for runs in found.values()):
        part_values = dict(part_values, lost=sum(runs.lossy() for runs in found.values()))
    failed = sum(runs.failed_ours() for runs in found.values())
    rows = []
    for key in goals.GOALS:
        if key not in measured and key not in part_values and key not in wanted:
            continue
        spread = measured.get(key)
        value = spread["median"] if spread else part_values.get(key)
        row = goals.verdict(key, value, reasons.get(key), spread)
        row["spread"] = spread
        row["failed"] = failed if key == "lost" else 0
        if row["failed"] and row["met"]:
            row.update(met=None, reason="a run that failed does not say what it lost")
        rows.append(row)
    return rows


def measured(row):
    if row["value"] is None:
        return "-"
    text = goals.form(row["value"], row["unit"])
    if row["spread"] and row["spread"]["n"] > 1:
        ends = [goals.form(row["spread"][k], row["unit"]).split()[0] for k in ("low", "high")]
        text += " (%s to %s)" % tuple(ends)
    if row["failed"]:
        text += ", %d failed" % row["failed"]
    return text + (", " + row["spread"]["of"] if row["spread"] and "of" in row["spread"] else "")


def goal_table(rows):
    out = head(["what", "goal", "measured", "result", "why"])
    for row in rows:
        limit = "report" if row["limit"] is None else (">= " if row["least"] else "<= ") + (
            "x%g" % row["limit"] if row["unit"] == "x" else ("%g %s" % (row["limit"], row["unit"])).strip())
        met = {True: "met", False: "**missed**", None: ""}[row["met"]]
        out.append(rule([row["what"], limit, measured(row), met, row["reason"]]))
    return out


# --- loads and programs -----------------------------------------------------------


def part_text(part):
    return "" if part == 1 else ", 1/%d" % part


def share_text(runs, tool):
    """What the row of a core as busy goes by."""
    share = runs.median(tool, "core_share") if tool == "caller" else None
    return "" if share is None else ", keeper and page %.0f %% of a core" % (100 * share)


def file_text(runs, tool):
    size = bytes_per_event(runs, tool) if tool in runs.names else None
    return "" if size is None else ", %.1f B an event" % size


def load_cell(runs, tool):
    added, ratio = runs.added(tool, "ns"), runs.ratio(tool, "ns")
    if tool in runs.reasons and not added:
        return runs.reasons[tool]
    if not added:
        return "-"
    return "%+.1f ns, x%.2f%s%s%s%s" % (added["median"], ratio["median"], share_text(runs, tool),
                                        part_text(runs.parts[tool]), file_text(runs, tool), runs.failed_text(tool))


def program_cell(runs, tool):
    wall, user = runs.ratio(tool, "wall"), runs.ratio(tool, "user")
    if tool in runs.reasons and not wall:
        return runs.reasons[tool]
    if not wall:
        return "-"
    ns, asleep = per_event(runs, tool), runs.added(tool, "asleep")
    return "x%.2f, user x%.2f%s%s%s%s%s%s" % (
        wall["median"], user["median"], ", %+.0f ns" % ns["median"] if ns else "",
        ", %.2f s waiting" % asleep["median"] if asleep and asleep["median"] >= WAITING_S else "",
        share_text(runs, tool), part_text(runs.parts[tool]), file_text(runs, tool), runs.failed_text(tool))


def load_title(runs):
    plain = runs.median("plain", "ns")
    return "%s, plain %s" % (runs.workload.name, "%.1f ns" % plain if plain else "-")


def program_title(runs):
    wall, user, events = (runs.median(tool, figure) for tool, figure in (
        ("plain", "wall"), ("plain", "user"), ("caller", "events")))
    return "%s, plain %s%s" % (runs.workload.name, "%.2f s, user %.2f s" % (wall, user) if wall else "-",
                               ", %.1f M events" % (events / 1e6) if events else "")


def lossless(runs):
    if not runs.has_ours():
        return "-"
    failed = runs.failed_ours()
    return ("**not in %d of the runs**" % runs.lossy() if runs.lossy() else "yes") + (
        ", and %d failed" % failed if failed else "")


def tool_table(found, title, cell):
    names = [name for name in TOOLS if name != "plain" and any(
        name in runs.names or name in runs.reasons for runs in found)]
    out = head(["tool"] + [title(runs) for runs in found])
    for name in names:
        out.append(rule([TOOLS[name].title] + [cell(runs, name) for runs in found]))
    out.append(rule(["no record of ours lost"] + [lossless(runs) for runs in found]))
    return out


# --- the whole --------------------------------------------------------------------


def markdown(result, found):
    """The text from under its heading on; result as in bench.json."""
    loads = [r for r in found.values() if not r.workload.is_program]
    programs = [r for r in found.values() if r.workload.is_program]
    out = ["Measured on %s with `%s`: %s; %s. The hypervisor took %.1f %% of the processor time meanwhile." % (
        result["date"], result["command"], result["on"],
        ", ".join("%s %s" % kv for kv in result["machine"]["versions"].items()) or "no versions known", result["stolen_percent"]), ""]
    out += goal_table(result["goals"])
    if loads:
        out += ["", "Loads: the time that each tool adds to a malloc or free of one thread, and the ratio to "
                "plain; medians of the rounds. Slow tools run a part of the events, such as 1/25, and are "
                "compared with plain runs of the same part.", ""]
        out += tool_table(loads, load_title, load_cell)
    if programs:
        out += ["", "Programs: wall and user time as ratios to plain, and the user time that each tool adds "
                "to an event. Wall time includes everything: the start, waiting for a full ring or for a core "
                "that keeper or page use, and work outside the program.", ""]
        out += tool_table(programs, program_title, program_cell)
    return "\n".join(out) + "\n"


def as_data(runs):
    """All that was measured of one workload, for bench.json."""
    return {"workload": runs.workload.name, "reasons": runs.reasons, "parts": runs.parts,
            "rounds": [[dict(got, tool=tool, part=part) for (tool, part), got in r.items()] for r in runs.rounds]}
