"""What an algorithm is, what it is given for a case, and what is taken of what it writes."""
