"""The parts of a report, each made from the document alone."""
