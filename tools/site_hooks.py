"""What the site has besides the files in docs/: a hook of MkDocs.

Pages from elsewhere in the repository (the paper's experiments, ARCHITECTURE.md and others), the command line as its help
describes it, and the gallery, whose scripts are run and drawn. Formulas become MathML, which needs no script.
"""

from __future__ import annotations

import ast
import io
import os
import posixpath
import re
import runpy
import warnings
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]

# Pages of the site by the file of the repository that they show.
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "results/README.md": "experiments.md",
}
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])\s*</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made from other files of the repository."""
    for source, page in PAGES.items():
        if page != "index.md":
            text = (ROOT / source).read_text(encoding="utf-8")
            files.append(File.generated(config, page, content=site_links(text, source, page)))
    for path in sorted((ROOT / "results").iterdir()):
        if path.suffix in (".svg", ".csv"):
            files.append(File.generated(config, f"experiments/{path.name}", content=path.read_bytes()))
    files.append(File.generated(config, "reference/command-line.md", content=command_line()))
    pictures = [gallery_picture(path) for path in sorted((ROOT / "examples" / "gallery").glob("*.py"))]
    for picture in pictures:
        files.append(File.generated(config, f"gallery/{picture['name']}.png", content=picture["png"]))
    files.append(File.generated(config, "gallery.md", content=gallery_page(pictures)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links of pages in docs/ to other files of the repository lead to their pages."""
    if page.file.generated_by is None:
        return site_links(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Formulas become MathML."""
    return _FORMULA.sub(
        lambda found: convert(unescape(found[2]), display="block" if found[1] == "div" else "inline"), html
    )


def site_links(text: str, source: str, page: str) -> str:
    """Replace links between files of the repository by links between pages of the site."""

    def replaced(found: re.Match[str]) -> str:
        if "://" in found[2]:
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[2]))
        if target in PAGES:
            target = PAGES[target]
        elif target.startswith("docs/"):
            target = target.removeprefix("docs/")
        elif target.startswith("results/"):
            target = f"experiments/{target.removeprefix('results/')}"
        else:
            return found[0]
        return found[1] + posixpath.relpath(target, posixpath.dirname(page) or ".") + found[3]

    return _LINK.sub(replaced, text)


def command_line() -> str:
    """The page on the command line: the help of every command."""
    from typer.testing import CliRunner

    from mvset.cli.app import app, commands

    os.environ.update(COLUMNS="92", TERMINAL_WIDTH="92")  # rich's and typer's
    page = [
        "# Command line",
        "`mvset --help` and `mvset COMMAND --help`, as they print it. Install with `pip install '.[cli]'`, or `'.[all]'`.",
    ]
    for name in ("", *commands):
        text = CliRunner().invoke(app, [*name.split(), "--help"], color=False).stdout
        page += [f"## mvset {name}".rstrip(), "```text\n" + "\n".join(map(str.rstrip, text.strip("\n").split("\n"))) + "\n```"]
    return "\n\n".join(page) + "\n"


def gallery_picture(path: Path) -> dict[str, Any]:
    """Run a script of the gallery, and draw its figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    code = path.read_text(encoding="utf-8")
    title, _, text = (ast.get_docstring(ast.parse(code)) or path.stem).partition("\n")
    png = io.BytesIO()
    with mpl.rc_context({"font.size": 10, "svg.hashsalt": "mvset"}), warnings.catch_warnings():
        warnings.simplefilter("error")  # of the library, and of matplotlib
        figure = runpy.run_path(str(path))["figure"]
        figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
        plt.close("all")
    body = code.partition('"""\n')[2].strip()  # what follows the docstring
    return {"name": path.stem, "title": title.rstrip("."), "text": text.strip(), "code": body, "png": png.getvalue()}


def gallery_page(pictures: list[dict[str, Any]]) -> str:
    """Thumbnails, and for each picture its text and code."""
    page = [
        "# Gallery",
        "Each picture is drawn by the script below it when this site is built. The scripts are in `examples/gallery/`.",
    ]
    thumbnails = [
        f'<a href="#{each["name"]}"><img src="gallery/{each["name"]}.png" alt=""><span>{each["title"]}</span></a>'
        for each in pictures
    ]
    page.append('<div class="thumbnails">\n' + "\n".join(thumbnails) + "\n</div>")
    for each in pictures:
        code = "\n".join(f"    {line}".rstrip() for line in each["code"].split("\n"))
        page += [
            f"## {each['title']} {{ #{each['name']} }}",
            each["text"],
            f"![{each['title']}](gallery/{each['name']}.png)",
            f'??? example "Code: examples/gallery/{each["name"]}.py"\n\n    ```python\n{code}\n    ```',
        ]
    return "\n\n".join(part for part in page if part) + "\n"
