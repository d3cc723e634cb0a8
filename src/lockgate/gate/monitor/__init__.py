"""One event in, one answer out: the decision on calls, results and lifetimes."""
