"""Side-by-side benchmarks: `python -m benchmarks` prints the tables of the README. Not
part of the test suite."""
