"""Programs of others, apart from everything else: sandboxes, their limits, and the test of both."""
