"""Makes a site of the pages that a forge shows as they are; mkdocs calls the functions on_*.

A file of the checkout beside docs/ that the navigation names becomes a page. A link to a
file leads to its page, or else to the file in the repository. Markdown and notebooks become
what Python-Markdown reads: markdown.py and notebook.py beside this."""

import os
import posixpath
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from mkdocs.structure.files import File

sys.path.insert(0, os.path.dirname(__file__))
import dialect
import notebook

ROOT = Path(__file__).resolve().parents[2]
# The state of the repository that links lead to: a tag, where a release is published.
REF = os.environ.get("SITE_REF") or "main"


class Place:
    """Where the pages and files of a site are in the checkout, and which page is made."""

    def __init__(self, repository):
        self.repository = repository
        self.sites = {}  # path in the checkout: path in the site's source
        self.page = ""
        self.outputs = {}

    def here(self, uri):
        """The path in the checkout of a file of the site's source."""
        return next((path for path, site in self.sites.items() if site == uri), uri)

    def link(self, to):
        """Where a link of the page leads to in the site."""
        parts = urlsplit(to)
        if parts.scheme or parts.netloc or not parts.path:
            return to
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.here(self.page)), unquote(parts.path)))
        behind = f"#{parts.fragment}" if parts.fragment else ""
        for name in (path, posixpath.join(path, "README.md")):
            if name in self.sites:
                return posixpath.relpath(self.sites[name], posixpath.dirname(self.page) or ".") + behind
        if path.startswith("..") or not (ROOT / path).exists():
            return to  # mkdocs says that it leads nowhere
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{self.repository}/{kind}/{REF}/{path}{behind}"


place = None


class Links(Treeprocessor):
    def run(self, root):
        for element in root.iter():
            for name in ("href", "src"):
                if element.get(name):
                    element.set(name, place.link(element.get(name)))


class LinksExtension(Extension):
    def extendMarkdown(self, md):
        md.treeprocessors.register(Links(md), "forge-links", 1)  # before mkdocs's own, which is 0


def leaves(nav):
    """The files that a navigation names."""
    for entry in nav:
        if isinstance(entry, dict):
            for value in entry.values():
                yield from leaves(value) if isinstance(value, list) else [value]
        else:
            yield entry


def on_config(config):
    global place
    place = Place(config.repo_url.rstrip("/"))
    config.markdown_extensions.append(LinksExtension())
    config.mdx_configs.setdefault("toc", {})["slugify"] = dialect.slug
    return config


def on_files(files, config):
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            files.remove(file)
            text, pictures, place.outputs[file.src_uri[:-5] + "md"] = notebook.convert(Path(file.abs_src_path).read_text(encoding="utf-8"), file.src_uri[:-6])
            text += f"\n[The notebook itself]({place.repository}/blob/{REF}/docs/{file.src_uri})\n"
            made = File.generated(config, file.src_uri[:-5] + "md", content=text)
            files.append(made)
            for uri, content in pictures.items():
                files.append(File.generated(config, uri, content=content))
            place.sites["docs/" + file.src_uri] = made.src_uri
        elif file.inclusion.is_included():
            place.sites["docs/" + file.src_uri] = file.src_uri
    for uri in leaves(config.nav):
        if files.get_file_from_path(uri) is None and (ROOT / uri).is_file():
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / uri)))
            place.sites[uri] = uri
    return files


def on_page_markdown(text, page, config, files):
    place.page = page.file.src_uri
    return dialect.convert(text)


def on_page_content(html, page, config, files):
    for mark, output in place.outputs.get(page.file.src_uri, {}).items():
        html = html.replace(mark, output)
    return html.replace("<th></th>", "<td></td>")  # no heading, also for who hears the page
