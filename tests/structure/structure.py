# SPDX-License-Identifier: Apache-2.0
"""Holds the #include lines of src and lib against dependencies.txt.

Used by test_structure.py; `python3 structure.py [ROOT]` prints what is wrong.
"""
import fnmatch
import pathlib
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


class Rules:
    """The written list."""

    def __init__(self, text):
        self.folders = {}   # folder → folders it may include
        self.libraries = {} # pattern of a header → places that may include it
        for line in text.splitlines():
            line = line.split("#")[0].strip()
            if line:
                name, _, rest = line.partition(":")
                into = self.libraries if name.startswith("<") else self.folders
                into[name.strip("<>")] = rest.split()

    def cycles(self):
        """One message for each folder that reaches itself."""
        problems = []
        for start in self.folders:
            seen, todo = set(), list(self.folders[start])
            while todo:
                folder = todo.pop()
                if folder not in seen:
                    seen.add(folder)
                    todo += self.folders.get(folder, [])
            if start in seen:
                problems.append(f"{start} depends on itself through others")
        return problems


def folder_of(path):
    """src/store/rocksdb/x.c → store; lib/codec/x.c → codec."""
    return path.parts[1]


def sources(root):
    for part in ("src", "lib"):
        for path in sorted((root / part).rglob("*.[ch]")):
            yield path.relative_to(root)


def check_own_header(root, rules, path, name, used):
    """A header of the project: does it exist, and may this folder include it?"""
    if path.parts[0] == "lib" and (root / path.parent / name).is_file():
        return []  # a library can be used alone, so it names its own headers without the folder
    target = next((base for base in ("src", "lib") if (root / base / name).is_file()), None)
    if target is None:
        return [f'{path}: "{name}" is not there; headers are named from src or lib']
    here, there = folder_of(path), pathlib.PurePath(target, name).parts[1]
    if here == there:
        return []
    used.add((here, there))
    problems = []
    if there not in rules.folders.get(here, []):
        problems.append(f"{path}: {here} may not include {there} ({name})")
    if path.parts[0] == "lib":
        problems.append(f"{path}: a library includes {name} of another folder")
    if name.endswith("_private.h"):
        problems.append(f"{path}: {name} is private to {there}")
    return problems


def check_library_header(rules, path, name, used):
    problems = []
    for pattern, places in rules.libraries.items():
        if not fnmatch.fnmatchcase(name, pattern):
            continue
        place = next((p for p in places if path.as_posix().startswith(p + "/")), None)
        if place is None:
            problems.append(f"{path}: <{name}> belongs to {' '.join(places)} only")
        used.add((pattern, place))
    return problems


def check_unused(rules, used):
    listed = {(name, other) for name, others in rules.folders.items() for other in others}
    listed |= {(name, place) for name, places in rules.libraries.items() for place in places}
    return [f"dependencies.txt: {name} does not use {other} any more; take it out"
            for name, other in sorted(listed - used)]


def check_folders(root, rules):
    problems = []
    for part in ("src", "lib"):
        for folder in sorted((root / part).iterdir()):
            if not folder.is_dir() or not list(folder.rglob("*.[ch]")):
                continue
            if not (folder / "README.md").is_file():
                problems.append(f"{part}/{folder.name} has no README.md")
            if folder.name not in rules.folders:
                problems.append(f"{part}/{folder.name} is not in dependencies.txt")
    return problems


def check(root, rules):
    problems, used = rules.cycles() + check_folders(root, rules), set()
    for path in sources(root):
        for own, library in INCLUDE.findall((root / path).read_text(encoding="utf-8")):
            if own:
                problems += check_own_header(root, rules, path, own, used)
            else:
                problems += check_library_header(rules, path, library, used)
    return problems + check_unused(rules, used)


def check_project(root):
    rules = Rules((root / "tests/structure/dependencies.txt").read_text(encoding="utf-8"))
    return check(root, rules)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    found = check_project(ROOT if len(sys.argv) > 1 else ROOT.parents[2])
    print("\n".join(found) or "the structure is as written")
    sys.exit(1 if found else 0)
