"""Tests of what makes and checks the site: .site/bin/python -m unittest discover -s scripts/site"""

import json
import tempfile
import unittest
from pathlib import Path

import check
import dialect
import hooks
import markdown
import notebook

ADDRESS = "https://example.org/base/"


class Dialect(unittest.TestCase):
    def html(self, text):
        return markdown.markdown(dialect.convert(text), extensions=["tables", "sane_lists", "pymdownx.superfences"])

    def test_lists(self):
        for text, items, lists in (
            ("a\n- b\n- c", 2, 1),
            ("a\n\n- b\n  c\n- d", 2, 1),
            ("- a\n  - b\n  - c\n- d", 4, 2),
            ("- a\n\n  - b\n    c\n\n  - d\n\n- e", 4, 2),
            ("1. a\n   b\n2. c\n   - d\n3. e", 4, 2),
            ("a\n1. b\n2. c", 2, 1),
            ("in the year\n1986. b", 0, 0),
            ("- a\n## b\n- c", 2, 2),
            ("- a\n\nb\n- c", 2, 2),
        ):
            html = self.html(text)
            self.assertEqual((html.count("<li>"), html.count("<ul>") + html.count("<ol>")), (items, lists), f"{text}\n{html}")
            self.assertNotIn("<pre>", html)

    def test_tables(self):
        for text in ("a\n| b | c |\n| --- | --- |\n| d | e |\n", "- a\n\n  | b | c |\n  | --- | --- |\n  | d | e |\n\n  f\n", "- a\n  | b | c |\n  | --- | --- |\n  | d | e |\n"):
            self.assertEqual(self.html(text).count("<td>"), 2, self.html(text))
        html = self.html("- a\n\n  | b | c |\n  | --- | --- |\n  | d | e |\n- f\n")
        self.assertEqual((html.count("<td>"), html.count("<li>")), (2, 2), html)
        self.assertIn("<td><code>a|b</code></td>", self.html("| x | y |\n| --- | --- |\n| `a\\|b` | c |\n"))

    def test_blocks_stay(self):
        text = "a\n```sh\nb\n- c\n| d |\n<!-- e -->\n```\n"
        self.assertEqual(dialect.convert(text), text)
        self.assertEqual(dialect.convert("<!-- not run: x -->\n```sh\ny\n```"), "```sh\ny\n```")

    def test_slug(self):
        for text, want in (("A `b` C!", "a-b-c"), ("Packs, in 2 - 3 s", "packs-in-2---3-s"), ("Größe_x", "größe_x")):
            self.assertEqual(dialect.slug(dialect.plain(text)), want)


class Links(unittest.TestCase):
    def test_link(self):
        place = hooks.Place("https://forge.example/a/b")
        place.sites = {"docs/x.md": "x.md", "docs/formats/y.md": "formats/y.md", "docs/n.ipynb": "n.md", "terraform/README.md": "terraform/README.md"}
        for page, to, want in (
            ("x.md", "formats/y.md#z", "formats/y.md#z"),
            ("formats/y.md", "../x.md", "../x.md"),
            ("x.md", "n.ipynb", "n.md"),
            ("x.md", "../terraform/README.md", "terraform/README.md"),
            ("x.md", "../terraform/#a", "terraform/README.md#a"),
            ("terraform/README.md", "../docs/x.md#z", "../x.md#z"),
            ("formats/y.md", "../../Makefile", "https://forge.example/a/b/blob/main/Makefile"),
            ("x.md", "../scripts/site", "https://forge.example/a/b/tree/main/scripts/site"),
            ("x.md", "gone.md", "gone.md"),
            ("x.md", "../../outside", "../../outside"),
            ("x.md", "#z", "#z"),
            ("x.md", "https://example.org/x.md", "https://example.org/x.md"),
        ):
            place.page = page
            self.assertEqual(place.link(to), want, f"{page}: {to}")


class Notebook(unittest.TestCase):
    def test_convert(self):
        cells = [
            {"cell_type": "markdown", "source": ["# A\n", "b"]},
            {"cell_type": "code", "source": "print(1 < 2)", "outputs": [{"output_type": "stream", "name": "stdout", "text": ["\x1b[31m1 < 2\x1b[0m\n"]}]},
            {"cell_type": "code", "source": "x", "outputs": [
                {"output_type": "execute_result", "data": {"text/plain": "x", "text/html": "<table></table>"}, "metadata": {}},
                {"output_type": "display_data", "data": {"text/plain": "<F>", "image/png": "aGk=\n"}, "metadata": {}},
                {"output_type": "display_data", "data": {"text/plain": "plain", "text/html": "<script src=x></script>"}, "metadata": {}},
            ]},
        ]
        text, pictures, marks = notebook.convert(json.dumps({"cells": cells}), "a/n")
        self.assertEqual(pictures, {"a/n/0.png": b"hi"})
        self.assertIn("```python\nprint(1 < 2)\n```", text)
        html = markdown.markdown(text, extensions=["pymdownx.superfences"])
        for mark in marks:
            self.assertEqual(html.count(mark), 1, html)
        shown = "".join(marks.values())
        for piece in ("<pre><code>1 &lt; 2</code></pre>", "<table></table>", '<img src="n/0.png" alt="&lt;F&gt;">', "<pre><code>plain</code></pre>"):
            self.assertIn(piece, shown)


class Check(unittest.TestCase):
    def problems(self, **pages):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                (Path(folder) / (name if "." in name else f"{name}.html")).write_text(text)
            return check.check(Path(folder), ADDRESS)[0]

    def test_good(self):
        self.assertEqual(self.problems(a='<a href="b.html#x">b</a><a href="https://example.org/base/b.html">b</a><a href="https://other.example/">o</a><a href="#y" id="y">',
                                       b='<p id="x"><a href="a.html?q=1">a</a><img src="data:image/png;base64,aGk="><link rel="canonical" href="https://example.org/base/b.html">'), [])

    def test_bad(self):
        for text in (
            '<a href="gone.html">', '<a href="a.html#gone">', '<a href="#gone">', '<a href="http://plain.example/">', '<a href="/base/gone.html">',
            '<script src="https://cdn.example/x.js"></script>', '<img src="//cdn.example/x.png">', '<img src="gone.png">', '<img srcset="a.html 1x, https://cdn.example/x 2x">',
            '<link rel="stylesheet" href="https://cdn.example/x.css">', '<link rel="preconnect" href="https://cdn.example">', '<iframe src="https://video.example/"></iframe>',
            '<style>@import "https://cdn.example/x.css";</style>', '<p style="background: url(https://cdn.example/x.png)">',
        ):
            self.assertEqual(len(self.problems(a=text)), 1, text)
        self.assertEqual(len(self.problems(**{"x.css": "@font-face { src: url('https://fonts.example/x.woff2') }"})), 1)

    def test_differences(self):
        text = "# A\n- b\n\n| c |\n| --- |\n\n```sh\nd\n```\n"
        good = '<article><h1 id="a">A</h1><ul><li>b</li></ul><table></table><pre>d</pre></article>'
        self.assertEqual(list(check.differences(check.Page(good), text)), [])
        for old, new in (('id="a"', ""), ("<li>", "<p>"), ("table", "p"), ("pre", "p"), ("<ul>", "<p>[x](y)</p>"), ("<ul>", "<p>\n- c</p>")):
            self.assertEqual(len(list(check.differences(check.Page(good.replace(old, new)), text))), 1, old)


if __name__ == "__main__":
    unittest.main()
