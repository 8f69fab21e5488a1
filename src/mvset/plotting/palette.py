"""Colours of all figures, used consistently; distinguishable in greyscale print and for colour-blind readers."""

OURS = "#2171b5"
OURS_LIGHT = "#6baed6"
OURS_DARK = "#08306b"
ONE_CLASS_SVM = "#d94801"
ONE_CLASS_SVM_LIGHT = "#fdae6b"
PLUG_IN = "#6a51a3"
TRUTH = "#222222"
INK = "#333333"
FAINT = "#9a9a9a"
SOFT = "#6b7580"

# Nested sets, innermost first.
SHADES = (OURS_DARK, OURS, OURS_LIGHT, "#bdd7e7", "#e8f1f9")
HIGHLIGHT = ONE_CLASS_SVM

# Columns of a table, most important first.
COLUMNS = (ONE_CLASS_SVM, OURS, "#238b45", PLUG_IN, "#b8860b", "#c51b8a")
