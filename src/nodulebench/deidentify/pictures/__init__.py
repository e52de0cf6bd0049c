"""The picture of a slice: its pixels alone, and text that is burned into them."""
