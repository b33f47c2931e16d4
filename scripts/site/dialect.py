"""Markdown as forges read it (CommonMark, with GitHub's tables and anchors), written so that
Python-Markdown reads it the same way."""

import re

ITEM = re.compile(r"( *)([-*]|\d+\.) ")
COMMENT = re.compile(r"<!-- .* -->")
SPAN = re.compile(r"(`+)(.+?)\1")


def convert(text):
    """Puts blank lines before lists and tables, indents what belongs to an item by four
    spaces for each level, and leaves comments out."""
    out = []
    fence = False
    levels = []  # for each list that is open, where the text of its items begins
    before = ""
    for line in text.split("\n"):
        if line.startswith("```"):
            fence = not fence
            if fence and levels:
                levels = []
        if fence or line.startswith("```"):
            out.append(line)
            before = line
            continue
        if COMMENT.fullmatch(line):
            continue
        indent = len(line) - len(line.lstrip(" "))
        item = ITEM.match(line)
        table = line.lstrip().startswith("|")
        if line.strip() and not table and before.lstrip().startswith("|"):
            out.append("")
        if not line.strip():
            pass
        elif item and (levels or indent < 4) and (levels or not before.strip() or item[2] in "-*1."):
            first = not levels
            while levels and indent < levels[-1]:
                levels.pop()
            if first and before.strip():
                out.append("")
            line = "    " * len(levels) + line.lstrip()
            levels.append(item.end())
        elif levels:
            while levels and indent < levels[-1] and not before.strip():
                levels.pop()
            if levels and (not before.strip() or table):
                if table and before.strip() and not before.lstrip().startswith("|"):
                    out.append("")
                line = "    " * len(levels) + line[min(indent, levels[-1]):]
            elif levels and line.startswith("#"):
                levels = []
        if table:
            if not levels and before.strip() and not before.lstrip().startswith("|"):
                out.append("")
            # In a cell a forge reads \| as |, in code, too.
            line = SPAN.sub(lambda m: m[0].replace("\\|", "|"), line)
        out.append(line)
        before = line
    return "\n".join(out)


def parts(text):
    """The pieces of a page in turn: (text, whether it is a block between fences)."""
    for n, piece in enumerate(re.split(r"^```.*$", text, flags=re.MULTILINE)):
        yield piece, n % 2 == 1


def plain(text):
    """The text of a line of Markdown, without its marks."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("*", "")


def slug(text, separator="-"):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", text.strip().lower()).replace(" ", "-")
