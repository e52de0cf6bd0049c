"""Message codes to text, in the language of the reader."""
