# SPDX-License-Identifier: Apache-2.0
"""The results of bench/cassandra.py as Markdown."""


def number(value):
    """Three significant digits, thousands with commas."""
    if value is None:
        return ""
    if abs(value) >= 1000:
        digits = len(str(int(abs(value))))
        return f"{round(value, 3 - digits):,.0f}"
    return f"{value:.3g}"


def bar(row):
    if row["bar"] is None:
        return ""
    against = number(row["bar"]) + ("" if row["ratio"] is None else " ×")
    return f"{against}: {'yes' if row['holds'] else '**no**'}"


def markdown(document):
    lines = [
        "# Varve on Cassandra",
        "",
        f"Written by `make bench-cassandra` on {document['date']}: Cassandra {document['cassandra']}, "
        f"one node, {document['heap_mb']} MB of heap; {document['machine']}. The ratio is Varve's (or "
        "lib/cql's) value by the other's; only ratios of one run mean anything.",
        "",
        "| measure | unit | Varve | beside | its value | ratio | bar |",
        "|---|---|---:|---|---:|---:|---|",
    ]
    for row in document["rows"]:
        lines.append(f"| {row['measure']} | {row['unit']} | {number(row['varve'])} | "
                     f"{row['peer'] or ''} | {number(row['peer_value'])} | {number(row['ratio'])} | "
                     f"{bar(row)} |")
    return "\n".join(lines) + "\n"
