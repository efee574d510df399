"""Drawings: operators as blocks, programs as sweeps along the tree; SVG, without a library."""

from phipsi.explain.drawings.blocks import draw_blocks as draw_blocks
from phipsi.explain.drawings.dataflow import draw_dataflow as draw_dataflow
from phipsi.explain.drawings.drawing import Drawing as Drawing
