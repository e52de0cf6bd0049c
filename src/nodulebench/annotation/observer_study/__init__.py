"""An observer study: false positives that readers judge, and the nodules that they add."""
