"""Checks of programs by rules, and comparisons of shardings and programs."""

from __future__ import annotations

from sdybridge.checks.check import check_module as check_module
from sdybridge.checks.check import open_program as open_program
from sdybridge.checks.check import selected as selected
from sdybridge.checks.check import unreadable as unreadable
from sdybridge.checks.compare import Comparison as Comparison
from sdybridge.checks.compare import Verdict as Verdict
from sdybridge.checks.compare import compare_shardings as compare_shardings
from sdybridge.checks.compare_programs import Pair as Pair
from sdybridge.checks.compare_programs import compare_programs as compare_programs
from sdybridge.checks.finding import Finding as Finding
from sdybridge.checks.finding import Rule as Rule
from sdybridge.checks.finding import Severity as Severity
from sdybridge.checks.program import Program as Program
from sdybridge.checks.reading import Placed as Placed
from sdybridge.checks.reading import read_sharding as read_sharding
from sdybridge.checks.rules import CHECKS as CHECKS
