"""Files that arrive in a folder: each is scored exactly once, and drift raises an alarm."""
