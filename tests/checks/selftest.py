#!/usr/bin/env python3
"""The checks find what they are there to find: each is shown a good and a bad example."""
import sys
import unittest

import layers
import purity
import standalone
import style
import tree


class Reading(unittest.TestCase):
    def test_comments_and_strings_are_blanked_in_place(self):
        text = 'int a; /* strcpy(\n */ char *s = "//x"; // y\n'
        self.assertEqual(tree.blank(text), 'int a;           \n    char *s = "   ";     \n')

    def test_functions_are_found_with_their_length(self):
        text = "static int one(int a)\n{\n\treturn a;\n}\n\nstruct berth_x *two(const char *s,\n                    int n)\n{\n}\n"
        found = tree.functions(text)
        self.assertEqual([(name, length) for name, _, length, _ in found], [("one", 3), ("two", 2)])

    def test_a_brace_in_a_string_ends_nothing(self):
        text = 'int f(void)\n{\n\tputs("\\\n}");\n\treturn 0;\n}\n'
        self.assertEqual(len(tree.functions(text)), 1)


class Layers(unittest.TestCase):
    def test_upward_is_fine(self):
        self.assertIsNone(layers.check_include("src/daemon/x.c", "base/error.h"))

    def test_downward_sideways_and_relative_are_not(self):
        self.assertIn("may not use core", layers.check_include("src/base/x.c", "core/fact.h"))
        self.assertIn("may not use core", layers.check_include("src/cli/x.c", "core/fact.h"))
        self.assertIn("from src/ on", layers.check_include("src/core/x.c", "../base/error.h"))
        self.assertIn("from src/ on", layers.check_include("src/core/x.c", "fact.h"))
        self.assertIn("the core may use only", layers.check_include("src/core/x.c", "base/file.h"))

    def test_units(self):
        self.assertEqual(layers.unit_of("core/fold.c"), layers.unit_of("core/fold.h"))
        self.assertNotEqual(layers.unit_of("core/core.c"), layers.unit_of("core/core.h"))

    def test_cycles(self):
        self.assertIsNone(layers.find_cycle({"a": {"b", "c"}, "b": {"c"}}))
        self.assertEqual(layers.find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}), ["a", "b", "c", "a"])


class Purity(unittest.TestCase):
    def test_what_base_draws_in_counts_too(self):
        core = {"core.c.o": ({"berth_core_new"}, {"malloc", "berth_arena_alloc"})}
        base = {"arena.c.o": ({"berth_arena_alloc"}, {"getenv", "malloc"}), "file.c.o": ({"berth_file"}, {"open"})}
        self.assertEqual(purity.pull(core, base), ({"malloc", "getenv"}, ["arena.c.o"]))
        self.assertNotIn("getenv", purity.ALLOWED)


class Style(unittest.TestCase):
    def bad(self, check, text):
        return check("src/base/x.c", text)

    def test_lines(self):
        self.assertEqual(self.bad(style.check_lines, "int a;\n"), [])
        for text in ("\t" * 14 + "123456789\n", "int a; \n", "int a;", "int a;\n\n", "/* TO" "DO */\n", "x\n" * 900 + "y\n"):
            self.assertEqual(len(self.bad(style.check_lines, text)), 1, text)

    def test_calls(self):
        self.assertEqual(len(self.bad(style.check_calls, "f(){ atoi (s); my_atoi(s); /* strcpy(a) */ }\n")), 1)

    def test_state(self):
        for text in ("static int count;\n", "int total = 0;\n", "static char buf[80];\n", "static struct berth_x *last = NULL;\n"):
            self.assertEqual(len(self.bad(style.check_state, text)), 1, text)
        for text in ("static const int a = 1;\n", "struct x;\n", "int f(void);\n", "int n;\nint main(void)\n{\n}\n",
                     "static const char *const names[] = {\n\"a\",\n};\n", "typedef int f(void);\n", "extern int n;\n", "f()\n{\n\tstatic int n;\n}\n"):
            self.assertEqual(self.bad(style.check_state, text), [], text)

    def test_functions(self):
        long = "int f(void)\n{\n" + "\tg();\n" * 99 + "}\n"
        self.assertEqual(len(style.check_functions("x.c", tree.functions(long))), 1)
        both = "int f(void)\n{\n\tBERTH_AUTO_FREE char *s = NULL;\n\tgoto out;\nout:\n\treturn 0;\n}\n"
        self.assertEqual(len(style.check_functions("x.c", tree.functions(both))), 1)

    def test_guard_and_comment_share(self):
        self.assertEqual(style.check_guard("src/a/b.h", "#ifndef BERTH_A_B_H\n#define BERTH_A_B_H\n#endif\n"), [])
        self.assertEqual(len(style.check_guard("src/a/b.h", "#ifndef B_H\n#define B_H\n#endif\n")), 1)
        self.assertEqual(style.comment_share("#ifndef BERTH_X_H\n#define BERTH_X_H\n/**/\nint;\n#endif\n"), 0.5)


class Standalone(unittest.TestCase):
    def test_outside(self):
        for line in ("see ../" "shared/x", "/wo" "rk/main/src", "curl https://pypi" ".org/x"):
            self.assertEqual(len(standalone.check_text("x", line)), 1, line)
        self.assertEqual(standalone.check_text("x", "share/doc, /var/lib/berth, libshared"), [])

    def test_links(self):
        text = "[a](README.md) [b](none.md) [c](https://example.com) [d](#nowhere)\n```\n[e](none)\n```\n"
        self.assertEqual(len(standalone.check_links("x.md", text.replace("(#nowhere)", ""))), 1)
        self.assertEqual(len(standalone.check_links("README.md", text)), 2)


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False).result.wasSuccessful())
