"""Numbers -> small still pictures as inline SVG: columns, rows, boxes, heat map."""
