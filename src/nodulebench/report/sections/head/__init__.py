"""What a reader sees first: the answer, the verdict, what to know before reading on."""
