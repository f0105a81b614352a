"""What a report is made of: sections of sentences, tables and pictures, whatever the format."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Table:
    """A table with a caption; numbers are shown with three significant digits."""

    caption: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class Picture:
    """A matplotlib figure, its file name without ending, and what it shows in words."""

    name: str
    alt: str
    figure: object


@dataclass
class Section:
    """A heading, sentences and the tables and pictures below them."""

    title: str
    sentences: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)  # what numbers were made by, where it says
