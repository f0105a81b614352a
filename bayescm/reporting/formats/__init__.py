"""How a report is written: HTML, Markdown, LaTeX, Word, guidelines; tables for notebooks."""
