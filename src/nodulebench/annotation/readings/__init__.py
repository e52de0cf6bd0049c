"""What readers drew: consistency, warnings, quality, tables for any reference rule."""
