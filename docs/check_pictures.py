"""Whether the executed pages show their pictures: as many as they draw. Run after the build."""

import re
import sys
from pathlib import Path

DRAWN = re.compile(r"(?:bcm|az|monitor)\.plot(?:_\w+)?\(")


def pictures(page, html):
    """Return how many pictures a page should have at least, and how many it has."""
    cells = re.findall(r"```\{code-cell\}[^\n]*\n(.*?)```", page.read_text(), re.DOTALL)
    # Plots on axes of the user's own share a figure.
    plots = sum(len(DRAWN.findall(cell)) > 0 for cell in cells)
    return plots, len(re.findall(r'class="[^"]*cell_output.*?<img ', html.read_text(), re.DOTALL))


def main(docs, built):
    """Compare every page with what was built of it."""
    wrong, number = [], 0
    for page in sorted(docs.rglob("*.md")):
        html = built / page.relative_to(docs).with_suffix(".html")
        if html.exists() and "mystnb" in page.read_text():
            least, found = pictures(page, html)
            number += found
            if found < least:
                wrong.append(f"{page.name}: {found} pictures, {least} cells that draw")
    print(f"{number} pictures on the executed pages")
    return "\n".join(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent, Path(sys.argv[1])) or 0)
