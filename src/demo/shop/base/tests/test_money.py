import unittest

from shop import money


class Show(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(money.show(500), "5.00")

    def test_cents(self):
        self.assertEqual(money.show(1999), "19.99")

    def test_small(self):
        self.assertEqual(money.show(7), "0.07")

    def test_zero(self):
        self.assertEqual(money.show(0), "0.00")

    def test_negative(self):
        self.assertEqual(money.show(-150), "-1.50")

    def test_negative_cents_only(self):
        self.assertEqual(money.show(-5), "-0.05")


class Parse(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(money.parse("5"), 500)

    def test_cents(self):
        self.assertEqual(money.parse("19.99"), 1999)

    def test_one_digit(self):
        self.assertEqual(money.parse("1.5"), 150)

    def test_negative(self):
        self.assertEqual(money.parse("-1.50"), -150)

    def test_round_trip(self):
        for cents in (0, 1, 99, 100, 12345, -1, -100):
            self.assertEqual(money.parse(money.show(cents)), cents)
