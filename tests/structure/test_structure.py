# SPDX-License-Identifier: Apache-2.0
"""The project keeps its written structure, and the check sees each kind of breach."""
import pathlib
import tempfile
import unittest

import structure

ROOT = pathlib.Path(__file__).resolve().parents[2]

GOOD = {
    "src/base/a.h": "",
    "src/base/README.md": "",
    "src/top/b.c": '#include "base/a.h"\n#include <disk/c.h>\n',
    "src/top/README.md": "",
    "lib/tool/t.h": "",
    "lib/tool/README.md": "",
}
RULES = "base:\ntop: base\ntool:\n<disk/*>: src/top\n"


def problems(files, rules=RULES):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return structure.check(root, structure.Rules(rules))


class Project(unittest.TestCase):
    def test_the_project_is_as_written(self):
        self.assertEqual(structure.check_project(ROOT), [])


class Check(unittest.TestCase):
    def expect(self, changes, needle, rules=RULES):
        found = problems({**GOOD, **changes}, rules)
        self.assertTrue(any(needle in problem for problem in found), found)

    def test_a_good_tree_passes(self):
        self.assertEqual(problems(GOOD), [])

    def test_an_unlisted_dependency(self):
        self.expect({"src/base/x.c": '#include "top/b.h"\n', "src/top/b.h": ""},
                    "base may not include top")

    def test_a_library_that_knows_the_program(self):
        self.expect({"lib/tool/t.c": '  #  include "base/a.h"\n'}, "a library includes")

    def test_a_private_header_abroad(self):
        self.expect({"src/top/x.c": '#include "base/a_private.h"\n', "src/base/a_private.h": ""},
                    "is private to base")

    def test_a_library_header_in_a_wrong_place(self):
        self.expect({"src/base/x.c": "#include <disk/c.h>\n"}, "belongs to src/top only")

    def test_a_header_that_is_not_there(self):
        self.expect({"src/top/x.c": '#include "a.h"\n'}, "is not there")

    def test_a_cycle(self):
        self.expect({"src/base/x.c": '#include "top/b.h"\n', "src/top/b.h": ""},
                    "depends on itself", "base: top\ntop: base\ntool:\n<disk/*>: src/top\n")

    def test_a_permission_that_nobody_uses(self):
        self.expect({}, "does not use tool", "base:\ntop: base tool\ntool:\n<disk/*>: src/top\n")

    def test_a_folder_without_readme(self):
        self.expect({"src/new/x.c": ""}, "src/new has no README.md")

    def test_a_folder_that_is_not_listed(self):
        self.expect({"src/new/x.c": "", "src/new/README.md": ""}, "is not in dependencies.txt")


if __name__ == "__main__":
    unittest.main()
