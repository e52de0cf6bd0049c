"""A test set -> kept sequestered: who may do what, what was done, how often it may be looked at."""
