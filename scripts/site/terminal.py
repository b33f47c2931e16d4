"""terminal.py COMMAND PARAGRAPHS: what a command printed, from stdin, as the picture of a
terminal, to stdout as SVG. PARAGRAPHS are the numbers of those to show, as 1,2,-1: for
others there is an ellipsis."""

import html
import sys

WIDTH, HEIGHT, SIZE, MARGIN = 7.8, 18, 13, 20  # of a column and a line; of the font; around the text


def chosen(text, numbers):
    """The lines of some paragraphs, with an ellipsis for those between them."""
    paragraphs = text.strip("\n").split("\n\n")
    wanted = {n - 1 if n > 0 else len(paragraphs) + n for n in numbers}
    lines = []
    for n, paragraph in enumerate(paragraphs):
        if n in wanted:
            lines += paragraph.split("\n") + [""]
        elif n - 1 in wanted or not n:
            lines += ["…", ""]
    return lines[:-1]


def draw(command, lines):
    columns = max(map(len, [*lines, "$ " + command]))
    width, height = round(columns * WIDTH + 2 * MARGIN), (len(lines) + 1) * HEIGHT + 2 * MARGIN + 12
    title = html.escape(f"What {command} prints", quote=True)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}" font-size="{SIZE}"'
        ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace">',
        f"<title>{title}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#16213a"/>',
        '<g fill="#4a5a7d"><circle cx="20" cy="16" r="5"/><circle cx="36" cy="16" r="5"/><circle cx="52" cy="16" r="5"/></g>',
        '<g fill="#dbe4f5" xml:space="preserve">',
    ]
    for n, line in enumerate(["$ " + command, *lines]):
        # Each word in its column, whatever the font: fonts differ in width.
        words = []
        at = 0
        for word in line.split(" "):
            if word:
                words.append((at, word))
            at += len(word) + 1
        pieces = []
        for at, word in words:
            if pieces and at == pieces[-1][0] + len(pieces[-1][1]) + 1:
                pieces[-1] = (pieces[-1][0], pieces[-1][1] + " " + word)
            else:
                pieces.append((at, word))
        fill = ' fill="#8fd0a0"' if not n else ""
        y = MARGIN + 12 + (n + 1) * HEIGHT - 5
        for at, piece in pieces:
            out.append(f'<text x="{MARGIN + at * WIDTH:g}" y="{y}" textLength="{len(piece) * WIDTH:g}" lengthAdjust="spacingAndGlyphs"{fill}>{html.escape(piece)}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


if __name__ == "__main__":
    sys.stdout.write(draw(sys.argv[1], chosen(sys.stdin.read(), [int(n) for n in sys.argv[2].split(",")])))
