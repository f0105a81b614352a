"""Pictures to be pointed at, on a page that loads nothing: plotly is in the page."""

from typing import Any

from markupsafe import Markup

from bayescm.validate import fail

_OPTIONS: dict[str, Any] = {"include_plotlyjs": False, "full_html": False}
_OPTIONS["config"] = {"displaylogo": False, "responsive": True}


def check() -> None:
    """Raise where the library that draws them is missing."""
    try:
        import plotly  # noqa: F401
    except ImportError:
        todo = "pip install 'bayescm[interactive]'"
        what = "interactive pictures need plotly, which is not installed"
        raise fail(what, ..., "the extra interactive", todo, ImportError) from None


def script() -> Markup:
    """Return plotly's own script, which a page holds once."""
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())


def pointed(picture: Any) -> Markup | None:
    """Return a picture as a part of a page, or None where there is only the one on paper."""
    drawn = vars(picture.figure).get("interactive")
    if drawn is None:
        return None
    # What plotly writes is escaped by it, and by the plot where plotly takes tags.
    return Markup(drawn().to_html(div_id=f"pointed-{picture.name}", **_OPTIONS))
