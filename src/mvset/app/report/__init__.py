"""The HTML report on a table, in three steps: numbers, figures (interactive and static), page."""
