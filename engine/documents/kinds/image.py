"""Read pictures with Pillow, upright and without transparency: their pixels, or a picture that any program can show."""

from __future__ import annotations

import base64
import warnings
from io import BytesIO
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError, WebPImagePlugin  # noqa: F401 - the last one reads WebP

from engine.documents.refused import NotReadable
from engine.translatable import Translatable

Image.preinit()  # It imports the readers of the other formats, before files are closed.
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
_MOST_OPENED, _MOST_READ = 80_000_000, 12_000_000
"""Pixels of a picture, and of its scaled version: larger ones are scaled down."""
_LONGEST_SIDE = 65_500
"""Pixels, as JPEG has them at most."""


def pixels(data: bytes) -> dict[str, Any]:
    """Return a picture's size and its pixels. Raises NotReadable."""
    image = _read(data, _MOST_READ)
    return {"width": image.width, "height": image.height, "pixels": base64.b64encode(image.tobytes()).decode()}


def shown(data: bytes, most: int) -> dict[str, Any]:
    """Return a picture's size, and the picture as PNG, no side longer than `most`. Raises NotReadable."""
    image, out = _read(data, _MOST_READ), BytesIO()
    size = {"width": image.width, "height": image.height}
    image.thumbnail((most, most))
    image.save(out, "PNG", compress_level=1)
    return size | {"picture": base64.b64encode(out.getvalue()).decode()}


def _read(data: bytes, most: int) -> Image.Image:
    Image.MAX_IMAGE_PIXELS = None  # The size is looked at here.
    warnings.simplefilter("ignore")
    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as image:
            count = image.width * image.height
            if not count or count > _MOST_OPENED or max(image.size) > _LONGEST_SIDE:
                raise NotReadable(
                    Translatable(
                        "it has {width} × {height} pixels; {count} million are the most",
                        width=image.width,
                        height=image.height,
                        count=_MOST_OPENED // 1_000_000,
                    )
                )
            if count > most:
                scale = (most / count) ** 0.5
                smaller = max(int(image.width * scale), 1), max(int(image.height * scale), 1)
                image.draft("RGB", smaller)
                made: Image.Image = image.resize(smaller, reducing_gap=2.0)
            else:
                image.load()
                made = image
            return _opaque(ImageOps.exif_transpose(made))
    except UnidentifiedImageError:
        reason = Translatable("it is no picture of a known kind: save it as PNG, JPEG, WebP, GIF or BMP")
        raise NotReadable(reason) from None


def _opaque(image: Image.Image) -> Image.Image:
    """Return a picture on white, where nothing shines through."""
    if image.mode.startswith("I") or image.mode == "F":  # Sixteen bits and more a pixel.
        image = image.point(lambda value: value / 256).convert("L")
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    with_alpha = image.convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(with_alpha)
    return ground.convert("RGB")
