"""Legibility checks of figures: text that is cut off, overlaps other text or is too small."""

from itertools import combinations

import numpy as np
from matplotlib.text import Text

SMALLEST = 6.0  # points
# Allowed overlap in pixels. Boxes have the height of the tallest letter of the font.
_SLACK = 1.5


def faults(figure):
    """
    Return descriptions of the illegible texts in a figure.

    Parameters
    ----------
    figure : Figure
    """
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    owned = _texts(figure)
    texts = [text for text, _ in owned]
    boxes = [_box(text, renderer) for text in texts]
    found = []
    for text, box in zip(texts, boxes, strict=True):
        if text.get_fontsize() < SMALLEST - 1e-6:
            found.append(f"{_name(text)} has {text.get_fontsize():.1f} points")
        low, high = box.min(axis=0), box.max(axis=0)
        if (low < -_SLACK).any() or (
            high > [figure.bbox.width + _SLACK, figure.bbox.height + _SLACK]
        ).any():
            beyond = max(*-low, *(high - [figure.bbox.width, figure.bbox.height]))
            found.append(f"{_name(text)} is cut off by {beyond:.0f} px")
    for (one, box), (other, of_other) in combinations(zip(texts, boxes, strict=True), 2):
        if _overlap(box, of_other):
            found.append(f"{_name(one)} lies on {_name(other)}")
    panels = [axes for axes in figure.axes if axes.get_visible() and axes.patch.get_visible()]
    for (text, owner), box in zip(owned, boxes, strict=True):
        for axes in panels:
            if owner not in (None, axes) and _overlap(box, _corners(axes.get_window_extent())):
                found.append(f"{_name(text)} lies in another panel")
    return found


def _name(text):
    return repr(text.get_text().replace("\n", " / ")[:40])


def _texts(figure):
    """Return every visible text, with its axes."""
    hidden, owners = set(), {}
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            drawn = axis._update_ticks()
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * (high - low)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                inside = low - room <= tick.get_loc() <= high + room
                for label in (tick.label1, tick.label2):
                    owners[label] = axes
                    if not (tick in drawn and inside and axes.axison and axes.get_visible()):
                        hidden.add(label)
        owners |= {text: axes for text in axes.findobj(Text) if text not in owners}
    texts = [
        text
        for text in figure.findobj(Text)
        if text not in hidden and text.get_visible() and text.get_text().strip()
    ]
    return [(text, owners.get(text)) for text in dict.fromkeys(texts)]


def _box(text, renderer):
    """Return the four corners of the box around a text, in pixels."""
    angle = text.get_rotation()
    outer = text.get_window_extent(renderer)
    if angle % 90 == 0:
        return _corners(outer)
    text.set_rotation(0)
    inner = text.get_window_extent(renderer)
    text.set_rotation(angle)
    middle = np.array([(outer.x0 + outer.x1) / 2, (outer.y0 + outer.y1) / 2])
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    turn = np.array([[cosine, sine], [-sine, cosine]])
    half = np.array([inner.width, inner.height]) / 2
    return middle + (np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half) @ turn


def _corners(box):
    return np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]])


def _overlap(one, other):
    """Return True if two rectangles overlap by more than the allowed amount."""
    for box in (one, other):
        for first, second in ((0, 1), (1, 2)):
            axis = box[second] - box[first]
            length = np.hypot(*axis)
            if length == 0:
                return False
            along, of_other = one @ axis / length, other @ axis / length
            if min(along.max(), of_other.max()) - max(along.min(), of_other.min()) <= _SLACK:
                return False
    return True
