"""How a report is written: HTML, Markdown, LaTeX, Word; tables for notebooks."""
