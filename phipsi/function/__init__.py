"""Expressions on machines as functions of arrays, and their derivatives."""

from phipsi.function.call import LANES as LANES
from phipsi.function.function import Function as Function
from phipsi.function.info import Info as Info
