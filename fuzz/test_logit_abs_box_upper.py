"""Long search for data that break `logit_abs_box_upper`, and its power."""

SLUG = "logit_abs_box_upper"


def test_logit_abs_box_upper_survives(survives):
    survives(SLUG)


def test_logit_abs_box_upper_search_has_power(search_has_power):
    search_has_power(SLUG)
