"""Two budgets of examples: `ci`, the same examples at every run, and `nightly`, more of them and new ones each time."""

from hypothesis import HealthCheck, settings

CI_EXAMPLES = 100


def register_profiles() -> None:
    """Makes both names known to Hypothesis."""
    plain = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("ci", plain, max_examples=CI_EXAMPLES, derandomize=True)
    settings.register_profile("nightly", plain, max_examples=10 * CI_EXAMPLES, derandomize=False, print_blob=True)


def budget(examples: int) -> settings:
    """Settings with this many examples in the `ci` profile, and as many times more in the one that is loaded."""
    return settings(max_examples=examples * settings().max_examples // CI_EXAMPLES)
