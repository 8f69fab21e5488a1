"""What the site has besides the files in docs/: a hook of MkDocs.

Pages from elsewhere in the repository (the paper's experiments, ARCHITECTURE.md and others), the command line as its
help describes it, and the gallery, whose scripts are run and drawn. Formulas become MathML, which needs no script.
"""

import ast
import csv
import io
import posixpath
import re
import runpy
import warnings
from html import unescape
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
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
# The scripts in benchmarks/ whose figures are kept, in the order in which the page shows them.
BENCHMARKS = ("grid", "solve", "scoring", "growth", "mass", "adbench")
# The scripts in examples/gallery/, in the order in which the page shows them.
GALLERY = (
    "smallest_set",
    "asked_and_got",
    "three_bandwidths",
    "nested_sets",
    "bandwidth_choice",
    "detectors_compared",
    "one_row_explained",
    "machine_fault",
    "levels_of_a_day",
    "alarms_per_machine",
)
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_ELSEWHERE = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"')
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])\s*</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made from other files of the repository."""
    for source, page in PAGES.items():
        if page != "index.md":
            text = (ROOT / source).read_text(encoding="utf-8")
            head = "---\nhide: [navigation]\n---\n\n" if page == "experiments.md" else ""
            files.append(File.generated(config, page, content=head + site_links(text, source, page)))
    for path in sorted((ROOT / "results").iterdir()):
        if path.suffix in (".svg", ".csv"):
            files.append(File.generated(config, f"experiments/{path.name}", content=path.read_bytes()))
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.[cp][sn][vg]")):
        files.append(File.generated(config, f"benchmarks/{path.name}", content=path.read_bytes()))
    files.append(File.generated(config, "benchmarks.md", content=benchmark_page()))
    files.append(File.generated(config, "reference/command-line.md", content=command_line()))
    scripts = sorted((ROOT / "examples" / "gallery").glob("*.py"), key=lambda path: GALLERY.index(path.stem))
    pictures = [gallery_picture(path) for path in scripts]
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


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """The site works offline: a page that loads something from elsewhere ends the build."""
    if found := _ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from elsewhere: {found[0]}")
    return output


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
    """The page on the command line: what the help of every command says."""
    import typer

    from mvset.app.cli.app import app

    found = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    commands = {str(each.name): each.callback for each in app.registered_commands}
    rows = [f"| [`mvset {name}`](#mvset-{name}) | {found[name].help.partition(chr(10))[0]} |" for name in commands]
    page = [
        "# Command line",
        "What `mvset --help` and `mvset COMMAND --help` say. Install it with `pip install '.[cli]'`, or `'.[all]'`.",
        "\n".join(["| command | what it does |", "| --- | --- |", *rows]),
        next(iter(found.values())).epilog,
    ]
    for name, function in commands.items():
        hints, parts = get_type_hints(function), {"Arguments": "", "Options": ""}
        for each in found[name].params:
            title = getattr(each, "rich_help_panel", None) or f"{each.param_type_name}s".capitalize()
            parts[title] = parts.get(title, "") + parameter(each, hints.get(each.name))
        page += [f"## mvset {name}", found[name].help]
        page += [f"**{title}**\n\n{lines}" for title, lines in parts.items() if lines]
    return "\n\n".join(part.strip() for part in page) + "\n"


def parameter(param: Any, hint: Any) -> str:
    """One option or argument: its names, what it takes, what it is, its default."""
    names = [f"`{each}`" for each in (*param.opts, *param.secondary_opts) if each.startswith("-")]
    choices = [value for kind in (hint, *get_args(hint)) if get_origin(kind) is Literal for value in get_args(kind)]
    takes = "|".join(choices) or param.metavar or param.name.upper().replace("_", "-")
    if not getattr(param, "is_flag", False):
        names = [f"{names[0][:-1]} {takes}`", *names[1:]] if names else [f"`{takes}`"]
    shown = getattr(param, "show_default", True) and param.default is not None and not isinstance(param.default, bool)
    default = f" Default: `{param.default}`." if shown else ""
    return f"- {', '.join(names)}: {param.help}{default}\n"


def benchmark_page() -> str:
    """For every question of `make bench` what was measured, from the tables that are kept."""
    page = [
        "---\nhide: [navigation]\n---",
        "# Benchmarks",
        "What `make bench` measured on two cores, others and ours in turn in the same run. Medians; `spread` is half "
        "of the range, relative; a ratio above 1 says that ours is faster; `limit` is the time that the kernel values "
        "alone would take at the rate that the machine was measured to reach. `make bench ARGS=--quick` takes a few "
        "minutes, compares with these tables, and names what has become slower by more than 20 %. Figures of a GPU are "
        "on [the page on scale](scale.md#on-a-gpu).",
    ]
    for name in BENCHMARKS:
        code = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"))
        text = (ast.get_docstring(code) or "").partition("\n\n    python ")[0]
        question = next(
            ast.literal_eval(each.value)
            for each in code.body
            if isinstance(each, ast.Assign) and getattr(each.targets[0], "id", "") == "QUESTION"
        )
        with (ROOT / "benchmarks" / "results" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            fields, *rows = csv.reader(file)
        lines = [" | ".join(fields), " | ".join("---" for _ in fields), *(" | ".join(row) for row in rows)]
        table = "\n".join(f"| {line} |" for line in lines)
        page += [f"## {question} {{ #{name} }}", text, f"![{question}](benchmarks/{name}.png)"]
        if len(rows) > 20:
            table = '??? note "Table"\n\n' + "\n".join(f"    {line}" for line in table.split("\n"))
        if (summary := ROOT / "benchmarks" / "results" / f"{name}.md").exists():
            page.append(summary.read_text(encoding="utf-8"))
        page += [table, f"`python benchmarks/{name}.py`, [{name}.csv](benchmarks/{name}.csv)"]
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
        figure.savefig(png, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None})
        plt.close("all")
    body = code.partition('"""\n')[2].strip()  # what follows the docstring
    return {"name": path.stem, "title": title.rstrip("."), "text": text.strip(), "code": body, "png": png.getvalue()}


def gallery_page(pictures: list[dict[str, Any]]) -> str:
    """Thumbnails, and for each picture its text and code."""
    page = [
        "---\nhide: [navigation]\n---",
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
