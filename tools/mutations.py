"""The mutants of a module: every small change to its code that `mutants.py` may try."""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
NEGATION = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
NEGATION |= {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
ARITHMETIC |= {ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
PAIRS = (("min", "max"), ("any", "all"), ("minimum", "maximum"), ("argmin", "argmax"), ("floor", "ceil"))
SWAPS = {a: b for pair in (*PAIRS, ("zeros", "ones")) for a, b in (pair, pair[::-1])}
TEXTS = {"warn", "field"}  # calls whose arguments are texts, or say how something is shown
LEFT_OUT = {"annotation", "returns", "decorator_list", "exc", "cause"}  # parts of the syntax tree: types and errors


class Mutation(NamedTuple):
    """One change: where, what, the text of the changed module, and the lines that a test must run to see it."""

    line: int
    change: str
    source: str
    lines: frozenset[int]  # none: those of the whole file


def mutations(source: str) -> Iterator[Mutation]:
    """All changes of a module, in the order of its syntax tree."""
    tree = ast.parse(source)
    for parent, name, index, child, function, statement in list(_places(tree, None, None)):
        for new in _replacements(child):
            value = getattr(parent, name)
            setattr(parent, name, new if index is None else [*value[:index], new, *value[index + 1 :]])
            changed = ast.unparse(ast.fix_missing_locations(tree))
            setattr(parent, name, value)
            part = statement or (child.test if isinstance(child, ast.If | ast.While) else None)
            if function is None or isinstance(parent, ast.arguments):  # a constant of the file, a default
                part = function
            lines = frozenset(range(part.lineno, part.end_lineno + 1) if part else ())
            yield Mutation(child.lineno, _described(child, new, statement or parent), changed, lines)


def _places(node: ast.AST, function: ast.AST | None, statement: ast.AST | None) -> Iterator[tuple[Any, ...]]:
    """All (parent, field, index, child, function, statement) below a node, without texts and types."""
    if isinstance(node, ast.FunctionDef):
        function, statement = node, None
    for name, value in ast.iter_fields(node):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if name in LEFT_OUT or not isinstance(child, ast.AST) or _is_text(child):
                continue
            if isinstance(child, ast.FunctionDef) and child.name == "__repr__":
                continue
            simple = isinstance(child, ast.stmt) and not hasattr(child, "body")
            heads = statement is None and isinstance(child, ast.expr)  # a condition, or what a loop runs over
            inner = child if simple or heads else statement
            if hasattr(child, "lineno"):
                yield node, name, index, child, function, inner
            yield from _places(child, function, inner)


def _is_text(node: ast.AST) -> bool:
    """Whether a node is a text, or a call that takes one."""
    call = node.value if isinstance(node, ast.Expr) else node
    if isinstance(call, ast.Call):
        return ast.unparse(call.func).rpartition(".")[2] in TEXTS
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    match node:
        case ast.Compare(left, ops, comparators):
            for table in (BOUNDARY, NEGATION):
                for i, op in enumerate(ops):
                    if type(op) in table:
                        yield ast.Compare(left, [*ops[:i], table[type(op)](), *ops[i + 1 :]], comparators)
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC and not (_is_text(left) or _is_text(right)):
            yield ast.BinOp(left, ARITHMETIC[type(op)](), right)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Name(name, ast.Load()) if name in SWAPS:
            yield ast.Name(SWAPS[name], ast.Load())
        case ast.Attribute(value, name, ast.Load()) if name in SWAPS:
            yield ast.Attribute(value, SWAPS[name], ast.Load())
        case ast.Return(ast.expr() as value) if not (_is_text(value) or isinstance(value, ast.Constant)):
            yield ast.Return(ast.Constant(None))
        case ast.IfExp(test, body, orelse) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.If(test, body, orelse) | ast.While(test, body, orelse):
            if not isinstance(test, ast.Compare | ast.UnaryOp):
                yield type(node)(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.AugAssign(target, op, value):
            yield ast.Pass()
            if type(op) in ARITHMETIC and not _is_text(value):
                yield ast.AugAssign(target, ARITHMETIC[type(op)](), value)
        case ast.Break() | ast.Continue() | ast.Expr(ast.Call()):
            yield ast.Pass()
        case ast.Assign([ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()


def _described(old: ast.AST, new: ast.AST, around: ast.AST) -> str:
    """The change in one line, with the code around it where it would say little alone."""
    if isinstance(old, ast.If | ast.While):
        old, new = old.test, new.test
    before, after, whole = (" ".join(ast.unparse(each).split()) for each in (old, new, around))
    return f"{before[:160]} -> {after[:160]}" + (f" in {whole[:120]}" if len(before) < 16 else "")
