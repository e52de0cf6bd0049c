"""The parts of a report; each is made from the evaluation document."""
