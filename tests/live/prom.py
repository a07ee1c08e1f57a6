# A strict reader of Prometheus' text format, version 0.0.4: whatever the format
# does not have, or a textfile collector would refuse, is an error.
#
#	prom.read(text) -> {name: (type, {labels, sorted: value})}
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(r"(%s)(?:\{((?:%s)(?:,%s)*)\})? (\S+)" % (
    NAME, LABEL.replace("(", "(?:").replace("(?:?:", "(?:"),
    LABEL.replace("(", "(?:").replace("(?:?:", "(?:")))


def value_of(escaped):
    return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), escaped)


def labels_of(text):
    found = re.findall(LABEL, text or "")
    assert len(dict(found)) == len(found), "a label twice: " + text
    return tuple(sorted((k, value_of(v)) for k, v in found))


def read(text):
    assert text.endswith("\n"), "no newline at the end"
    metrics, helped, name = {}, None, None
    for line in text[:-1].split("\n"):
        words = line.split(" ", 3)
        if words[:2] == ["#", "HELP"]:
            helped = words[2]
            assert re.fullmatch(NAME, helped) and len(words) == 4, line
            assert not re.search(r"\\[^\\n]", words[3]), line
        elif words[:2] == ["#", "TYPE"]:
            name = words[2]
            assert name == helped and name not in metrics, line
            assert words[3] in ("counter", "gauge"), line
            assert name.endswith("_total") == (words[3] == "counter"), line
            metrics[name] = words[3], {}
        else:
            m = SAMPLE.fullmatch(line)
            assert m and m[1] == name, line
            labels = labels_of(m[2])
            assert labels not in metrics[name][1], "twice: " + line
            metrics[name][1][labels] = float(m[3])
    return metrics


if __name__ == "__main__":
    print(read(open(sys.argv[1], encoding="utf-8").read()))
