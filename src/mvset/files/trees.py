"""Checks the trees of forests that come from a file: scikit-learn follows their numbers without looking.

A node that points to itself would never end, and a column or node that does not exist is read beyond the memory of an
array.
"""

from typing import Any

import numpy as np

TREE = "sklearn.tree._tree.Tree"
_LEAF = -1


class UnknownTreeError(ValueError):
    """A tree that is not in a forest whose trees are checked."""


def check_trees(model: Any) -> None:
    """Refuse a model with a tree that is not well-formed, or that is not in an isolation forest."""
    from sklearn.ensemble import IsolationForest

    waiting, seen = [model], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, str | bytes | np.generic):
            continue
        seen.add(id(each))
        if f"{type(each).__module__}.{type(each).__name__}" == TREE:
            raise UnknownTreeError
        if isinstance(each, IsolationForest):
            _check_forest(each)
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple | set) or (isinstance(each, np.ndarray) and each.dtype == object):
            waiting += list(each)
        else:
            waiting += getattr(each, "__dict__", {}).values()


def _check_forest(forest: Any) -> None:
    """Refuse a forest whose trees do not fit the rows that it lets them see."""
    if not hasattr(forest, "estimators_"):
        return  # it is not fitted
    for tree, columns in zip(forest.estimators_, forest.estimators_features_, strict=True):
        nodes, numbers = tree.tree_, np.arange(tree.tree_.node_count)
        is_leaf = nodes.children_left == _LEAF
        for children in (nodes.children_left[~is_leaf], nodes.children_right[~is_leaf]):
            if not ((children > numbers[~is_leaf]) & (children < nodes.node_count)).all():
                raise ValueError("a tree in it points to nodes that it does not have")
        features = nodes.feature[~is_leaf]
        if not ((features >= 0) & (features < min(len(columns), forest.n_features_in_))).all():
            raise ValueError("a tree in it has columns that its forest does not have")
