"""Message codes -> text, in the language of the reader."""
