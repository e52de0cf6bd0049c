"""The networks themselves, one file each: those of LUNA16's papers, and our own."""
