"""Tables as the documents have them, printed row by row: `keep.py` keeps them."""


def print_head(*names: object) -> None:
    """The names of the columns, and the rule under them."""
    print()
    print_row(*names)
    print(f"|{' --- |' * len(names)}", flush=True)


def print_row(*cells: object) -> None:
    """One row."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
