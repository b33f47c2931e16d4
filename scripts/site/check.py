"""check.py SITE: holds a built site against what it links to, what it loads, and its pages.

Every link to the site itself has to lead to a file of it, and to an element if it names one.
Nothing may be loaded from another host: no script, style, font, picture or frame. A page of
a Markdown file has the anchors, blocks, tables and items that a forge shows of it."""

import posixpath
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import dialect

ROOT = Path(__file__).resolve().parents[2]

# What a browser fetches by itself, by element and attribute. Of links it depends on rel.
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("audio", "src"), ("video", "src"), ("video", "poster"),
         ("embed", "src"), ("object", "data"), ("input", "src"), ("image", "href"), ("use", "href")}
NO_LOAD = {"canonical", "prev", "next", "alternate", "author", "license"}
IN_STYLE = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
# Marks that a page shows if Markdown was not understood.
LEFT_OVER = re.compile(r"\]\([^)\s]+\)|^\s*(?:[-*] |\|)|```|\*\*\w|<!--|`", re.MULTILINE)


class Page(HTMLParser):
    """The links, loads, anchors and text of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links, self.loads, self.ids, self.text = [], [], set(), []
        self.count = dict.fromkeys(("pre", "table", "li"), 0)  # of the article
        self.inside = []  # open elements whose text is not prose
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        of = {name: value or "" for name, value in attrs}
        self.ids.update(of[name] for name in ("id", "name") if of.get(name))
        if tag in self.count and "article" in self.inside:
            self.count[tag] += 1
        if tag in ("article", "nav", "pre", "code", "script", "style"):
            self.inside.append(tag)
        if tag == "link":
            (self.links if set(of.get("rel", "").split()) <= NO_LOAD else self.loads).append(of.get("href", ""))
        elif tag in ("a", "area"):
            if "href" in of:
                self.links.append(of["href"])
        for name, value in of.items():
            if (tag, name) in LOADS:
                self.loads.append(value)
            elif name == "srcset":
                self.loads += [part.split()[0] for part in value.split(",") if part.split()]
            elif name == "style":
                self.style(value)

    def handle_endtag(self, tag):
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass

    def handle_data(self, data):
        if "style" in self.inside:
            self.style(data)
        elif self.inside == ["article"]:
            self.text.append(data)

    def style(self, text):
        self.loads += [a or b for a, b in IN_STYLE.findall(text)]


def source(name):
    """The Markdown of a page, or None if it has none."""
    names = [name[:-5] + ".md"]
    if posixpath.basename(name) == "index.html":
        names.append(posixpath.join(posixpath.dirname(name), "README.md"))
    found = (base / name for base in (ROOT / "docs", ROOT) for name in names)
    return next((path.read_text(encoding="utf-8") for path in found if path.is_file()), None)


def differences(page, text):
    """What a forge shows of a Markdown text and the page does not."""
    seen, fences, tables, items = set(), 0, 0, 0
    for part, block in dialect.parts(text):
        if block:
            fences += 1
            continue
        for line in part.split("\n"):
            if re.match("#+ ", line):
                base = name = dialect.slug(dialect.plain(line.lstrip("#")))
                n = 0
                while name in seen:
                    n += 1
                    name = f"{base}-{n}"
                seen.add(name)
            tables += bool(re.fullmatch(r" *\|(?: *:?-+:? *\|)+", line))
            items += bool(dialect.ITEM.match(line))
    for name in sorted(seen - page.ids):
        yield f"has no anchor {name}"
    for what, want in (("pre", fences), ("table", tables), ("li", items)):
        if page.count[what] < want:
            yield f"has {page.count[what]} of {want} {what}"
    for line in "".join(page.text).split("\n"):
        if LEFT_OVER.search(line):
            yield f"shows Markdown: {line.strip()[:100]}"


def check(site, address):
    """(Problems, what was counted) of a site in a folder that is published at an address."""
    problems, count = [], {"pages": 0, "links": 0, "loads": 0}
    pages = {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}

    def target(to, name):
        """The file of the site that a link of a page leads to, or None if it leads elsewhere."""
        parts = urlsplit(urljoin(address + name, to))
        if parts.scheme not in ("http", "https") or not parts.geturl().startswith(address):
            return None, ""
        path = unquote(parts.geturl().split("#")[0].split("?")[0][len(address):])
        return (posixpath.join(path, "index.html") if not path or path.endswith("/") else path), unquote(parts.fragment)

    for name, page in pages.items():
        count["pages"] += 1
        text = source(name)
        if text is not None:
            problems += [f"{name} {what}" for what in differences(page, text)]
        for to in page.links:
            count["links"] += 1
            file, anchor = target(to, name)
            if file is None:
                if urlsplit(to).scheme not in ("https", "mailto"):
                    problems.append(f"{name}: {to} is neither of the site nor https")
            elif not (site / file).is_file():
                problems.append(f"{name}: {to} leads nowhere")
            elif anchor and file in pages and anchor not in pages[file].ids:
                problems.append(f"{name}: {to}: {file} has nothing of that name")
        for to in page.loads:
            count["loads"] += 1
            if to.startswith(("data:", "#")):
                continue
            file, _ = target(to, name)
            if file is None:
                problems.append(f"{name} loads {to}")
            elif not (site / file).is_file():
                problems.append(f"{name} loads {to}, which is not there")
    for path in sorted(site.rglob("*.css")) + sorted(site.rglob("*.svg")):
        name = path.relative_to(site).as_posix()
        for a, b in IN_STYLE.findall(path.read_text(encoding="utf-8")):
            to = a or b
            count["loads"] += 1
            if not to.startswith(("data:", "#")) and (target(to, name)[0] is None or not (site / target(to, name)[0]).is_file()):
                problems.append(f"{name} loads {to}")
    return problems, count


def main():
    site = Path(sys.argv[1])
    problems, count = check(site, "https://farread.github.io/farread/")
    for problem in problems:
        print(f"site-check: {problem}", file=sys.stderr)
    print(", ".join(f"{n} {what}" for what, n in count.items()) + f", {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
