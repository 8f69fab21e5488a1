"""Volume samples, and the volumes of sets with their standard errors (paper, Section II-C, "Volume computation").

A volume sample is a set of weighted points; the volume of any set is the sum of the weights of the points inside it.

- `measure`: the sample, and the sums over it;
- `box`: the paper's sample, uniform in the box around the rows;
- `importance`, built on `proposal` and `shapes`: a sample adapted to the set, for many columns;
- `sampler`: the choice between the two, the number of points, and the warning if they are too few.

It imports `rows` and the modules at the root, and knows nothing of scores or estimators.
"""
