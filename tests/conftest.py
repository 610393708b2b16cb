"""Budgets of a test run, and what it left out."""

import os
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis.errors import InvalidArgument

from tests.profiles import register_profiles

register_profiles()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long",
        action="store_true",
        help="run tests marked slow, and ten times the examples (the Hypothesis profile `nightly`)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """`--hypothesis-profile` wins over HYPOTHESIS_PROFILE, and that over `--long`."""
    chosen = config.getoption("--hypothesis-profile"), os.environ.get("HYPOTHESIS_PROFILE")
    profile = chosen[0] or chosen[1] or ("nightly" if config.getoption("--long") else "ci")
    try:
        settings.load_profile(profile)
    except InvalidArgument as error:
        raise pytest.UsageError(f"HYPOTHESIS_PROFILE: expected ci or nightly, got {profile!r}") from error


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow, runs with --long"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.getreports("skipped")
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    if reasons:
        listed = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"{reasons.total()} skipped, by reason: {listed}")
