"""A page about a table: numbers → figures → page."""
