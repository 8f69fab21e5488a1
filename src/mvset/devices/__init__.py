"""Rows on a GPU: array libraries, scores, answers, and stages of work that overlap."""
