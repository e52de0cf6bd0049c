"""Reference algorithms whose behaviour is known: candidate detectors, classifiers, networks."""
