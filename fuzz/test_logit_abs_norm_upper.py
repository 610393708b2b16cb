"""Long search for data that break `logit_abs_norm_upper`, and its power."""

SLUG = "logit_abs_norm_upper"


def test_logit_abs_norm_upper_survives(survives):
    survives(SLUG)


def test_logit_abs_norm_upper_search_has_power(search_has_power):
    search_has_power(SLUG)
