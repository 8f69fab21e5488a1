"""What the command `mvset` needs: tables, summaries, the report, the watch and the command line."""
