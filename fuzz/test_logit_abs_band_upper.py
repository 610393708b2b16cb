"""Long search for data that break `logit_abs_band_upper`, and its power."""

SLUG = "logit_abs_band_upper"


def test_logit_abs_band_upper_survives(survives):
    survives(SLUG)


def test_logit_abs_band_upper_search_has_power(search_has_power):
    search_has_power(SLUG)
