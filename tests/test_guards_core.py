"""x"""


def test_nothing():
    pass
