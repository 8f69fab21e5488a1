"""The experiments of the paper, one file each: ``run(config)`` gives rows, ``plot(rows)`` a figure."""
