"""Motions as video: camera, mannequin, room and rasteriser."""
