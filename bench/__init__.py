"""Benchmarks: ratios within one run, of the kernel and of itself with one thing changed."""
