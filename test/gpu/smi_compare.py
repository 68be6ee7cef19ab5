"""Compare outputs of nvidia-smi, or of nvidia-smi and gangway smi, value by value.

	smi_compare.py KIND NATIVE AGAIN OTHER

KIND is table, q, xml or csv. A key (the path of a line in -q or of an element in XML, or a field's name) must be in
NATIVE and in OTHER, with the same value. For a value that changes by itself (it is listed in MOVING, or differs between
NATIVE and AGAIN), the key only has to be in both or in neither. smi.sh checks processes separately. Prints the number of
equal values and each difference; the exit status is 1 if there is a difference.
"""
import csv
import re
import sys
import xml.etree.ElementTree as ElementTree

MOVING = {
    "csv": r"^(timestamp|utilization\.|temperature\.|power\.draw|module\.power\.draw|clocks\.current|pstate|fan\.speed"
           r"|memory\.(used|free)|protected_memory\.(used|free)|clocks_event_reasons|encoder\.stats"
           r"|pcie\.link\.gen\.(current|gpucurrent)|pcie\.link\.width\.current)",
    "q": r"(^Timestamp$|Throughput$|/Utilization/|/Temperature/(GPU Current|GPU T.Limit|Memory Current) Temp$|Power Draw$"
         r"|Memory Usage/(Used|Free)$|/Clocks/|/Clocks Event Reasons|/Performance State$|/Fan Speed$"
         r"|PCIe Generation/(Current|Device Current)$|Link Width/Current$|/(Encoder|FBC) Stats/|/Replays Since Reset$"
         r"|/Replay Number Rollovers$)",
    "xml": r"(/timestamp$|/(tx|rx)_util$|/utilization/|/temperature/(gpu_temp|gpu_temp_tlimit|memory_temp)$|power_draw$"
           r"|/power_state$|memory_usage/(used|free)$|/clocks/|/clocks_event_reasons|/performance_state$|/fan_speed$"
           r"|/pcie_gen/(current_link_gen|device_current_link_gen)$|/link_widths/current_link_width$"
           r"|/(encoder|fbc)_stats/|/replay_counter$|/replay_rollover_counter$)",
    "table": r"^time$",
}
PROCESSES = r"/(Processes|processes)"


def read(path):
    return open(path, encoding="utf-8", errors="replace").read()


def add(values, key, value):
    """Repeated keys (a list) are numbered."""
    n = 2
    first = key
    while key in values:
        key = f"{first}#{n}"
        n += 1
    values[key] = value


def parse_q(text):
    values, path = {}, []
    for line in text.splitlines():
        if not line.strip():
            continue
        indent = (len(line) - len(line.lstrip())) // 4
        key, colon, value = (part.strip() for part in line.partition(" : "))
        path = path[:indent] + [""] * (indent - len(path)) + [key]
        add(values, "/".join(path), value if colon else "")
    return values


def parse_xml(text):
    values = {}

    def walk(element, path):
        path = f"{path}/{element.tag}"
        add(values, path, (element.text or "").strip())
        for name, value in element.attrib.items():
            add(values, f"{path}@{name}", value)
        for child in element:
            walk(child, path)

    try:
        walk(ElementTree.fromstring(text), "")
    except ElementTree.ParseError as e:
        add(values, "is XML", f"no: {e}")
    return values


def parse_csv(text):
    values = {}
    rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
    for n, row in enumerate(rows[1:]):
        for name, value in zip(rows[0], row):
            add(values, f"{name} (GPU {n})", value)
        if len(row) != len(rows[0]):
            add(values, f"columns (GPU {n})", str(len(row)))
    return values


def parse_table(text):
    """The lines above the processes, with changing numbers masked, and whether there are processes."""
    values = {}
    lines = text.splitlines()
    for n, line in enumerate(lines):
        if "Processes:" in line:
            break
        line = re.sub(r" +[0-9]+(C|W|%|MiB)", r" #\1", line)
        add(values, "time" if n == 0 else f"line {n + 1}", re.sub(r" P[0-9]+ ", " P# ", line))
    add(values, "there are processes", "no" if "No running processes found" in text else "yes")
    return values


PARSE = {"q": parse_q, "xml": parse_xml, "csv": parse_csv, "table": parse_table}


def show(pairs, most=40):
    for line in pairs[:most]:
        print("    " + line)
    if len(pairs) > most:
        print(f"    and {len(pairs) - most} more")


def missing(value):
    return value in ("N/A", "") or value.startswith("[") or "Error" in value


def agree(kind, key, moving, native, other):
    a, b = native.get(key), other.get(key)
    if a == b or re.search(PROCESSES, key):
        return True
    changes = key in moving or re.search(MOVING[kind], key)
    return bool(changes) and a is not None and b is not None and missing(a) == missing(b)


def compare(kind, native, again, other):
    moving = {key for key in native.keys() | again.keys() if native.get(key) != again.get(key)}
    keys = list(native) + [key for key in other if key not in native]
    wrong = [key for key in keys if not agree(kind, key, moving, native, other)]
    same = sum(key in native and native[key] == other.get(key) for key in keys)
    print(f"    of {len(keys)} values {same} are the same, {len(keys) - same - len(wrong)} change by themselves, "
          f"{len(wrong)} are wrong")
    show([f"{key}: natively {native.get(key, 'not there')!r}, here {other.get(key, 'not there')!r}" for key in wrong])
    return 0 if same and not wrong else 1


def main():
    kind = sys.argv[1]
    return compare(kind, *(PARSE[kind](read(path)) for path in sys.argv[2:5]))


if __name__ == "__main__":
    sys.exit(main())
