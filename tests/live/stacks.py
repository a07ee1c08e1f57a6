#!/usr/bin/env python3
"""What the reports of one target say, held against each other.

stacks.py tree|groups|list|folded FILE [WORDS...]: status 0 when the report is
sound in itself; what it sums to is printed as "blocks bytes".
"""
import json
import sys


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def need(what, sentence):
    if not what:
        sys.exit(sentence)


def add(to, node):
    to[0] += node["blocks"]
    to[1] += node["bytes"]


def tree(path):
    """Every node is its self and its nodes; the first ones are the total."""
    report = load(path)
    need(report["schema"] == "pagek.tree/1", "schema")
    nodes = report["nodes"]
    inside = [[0, 0] for _ in nodes]
    total = [0, 0]
    for i, node in enumerate(nodes):
        parent = node["parent"]
        need((parent is None) == (node["depth"] == 0), f"depth of node {i}")
        if parent is not None:
            need(parent < i and nodes[parent]["depth"] == node["depth"] - 1,
                 f"parent of node {i}")
        need((node["function"] is None) == (node["omitted"] > 0),
             f"function of node {i}")
        if not node["skipped"]:
            add(total if parent is None else inside[parent], node)
    for i, node in enumerate(nodes):
        if node["skipped"] or node["omitted"]:
            continue
        own = node["self"]
        need(node["blocks"] == own["blocks"] + inside[i][0] and
             node["bytes"] == own["bytes"] + inside[i][1],
             f"{node['function']} is not what it is made of")
    if report["focus"] is None:
        need(total == [report["total"]["blocks"], report["total"]["bytes"]],
             "the first nodes are not the total")
    ends = [0, 0]
    for end in report["ends"]:
        add(ends, end)
    need(ends == [report["total"]["blocks"], report["total"]["bytes"]],
         "the ends are not the total")
    return total


def groups(path):
    report = load(path)
    need(report["schema"] == "pagek.groups/1", "schema")
    total = [0, 0]
    for group in report["groups"]:
        add(total, group)
    # Each block is in one group, but in one of each function above it.
    need(report["by"] == "frame" or report["omitted"] > 0 or
         total == [report["total"]["blocks"], report["total"]["bytes"]],
         "the groups are not the total")
    return total


def block_list(path):
    """Every block has a stack whose origin is the function."""
    report = load(path)
    need(report["schema"] == "pagek.blocks/2", "schema")
    total = [0, 0]
    for block in report["blocks"]:
        total[0] += 1
        total[1] += block["size"]
        stack = block["stack"]
        need(stack and block["stack_end"], f"no stack of {block['address']}")
        need(block["caller"] == stack[0]["address"],
             f"caller of {block['address']}")
        need(not stack[-1]["skipped"] and not stack[-1]["inlined"],
             f"last line of {block['address']}")
        asked = next(line for line in stack if not line["skipped"])
        need(block["function"].startswith(
            asked["function"] or asked["module"].rsplit("/", 1)[-1]),
            f"function of {block['address']}")
    return total


def folded(path):
    total = 0
    with open(path, encoding="utf-8") as f:
        for line in f:
            names, measure = line.rstrip("\n").rsplit(" ", 1)
            need(all(names.split(";")), "a name is empty")
            need("\033" not in names, "an escape")
            total += int(measure)
    return [total]


def main():
    what = {"tree": tree, "groups": groups, "list": block_list,
            "folded": folded}
    print(*what[sys.argv[1]](sys.argv[2]))


main()
