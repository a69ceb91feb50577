"""How texts show themselves in a notebook."""

from __future__ import annotations


class ShownAsText:
    """What a notebook shows as its text, in lines that stay in place."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"
