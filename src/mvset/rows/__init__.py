"""Rows of any kind as rows of numbers: validation, categories, missing values, streams and samples of them."""
