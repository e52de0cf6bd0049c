"""Candidates -> measured features -> a score: networks and support-vector machines, in numpy.

Scikit-learn trains them; their weights are plain arrays, and using them needs only numpy.
"""
