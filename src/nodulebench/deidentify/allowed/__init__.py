"""What may stay in a header: actions of the profile, words, numbers and coded terms."""
