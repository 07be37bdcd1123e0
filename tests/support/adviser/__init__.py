"""Tables whose best layout is planted, and files really written under a layout, to hold forecasts against."""
