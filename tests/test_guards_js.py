"""x"""


def test_guard_nothing():
    pass
