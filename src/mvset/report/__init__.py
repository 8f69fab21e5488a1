"""The HTML report on a table, in three steps: numbers → figures → page.

`numbers` computes everything with `summaries`; `figures` and `pictures` draw it, interactively and as static images;
`page` fills the HTML template. Imports `plotting`, `files`, `summaries` and `estimators`; imported by `cli` and, for
:func:`write_report`, by the top-level package.
"""
