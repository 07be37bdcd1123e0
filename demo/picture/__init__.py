"""How the outcomes are shown: a chart, a page around it, and the lines of the terminal."""
