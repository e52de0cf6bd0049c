"""The door for Python: what people have in hand -> results that show themselves."""
