"""Work done elsewhere: engines for tasks, algorithms under test and how they are kept apart."""
