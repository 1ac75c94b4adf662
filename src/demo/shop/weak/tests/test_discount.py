import unittest

from shop import discount
from shop.orders import item


class Price(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(discount.price(item("tea", 650)), 650)

    def test_with_discount(self):
        self.assertEqual(discount.price(item("tea", 650, 10)), 585)

    def test_rounds_down(self):
        self.assertEqual(discount.price(item("pin", 99, 50)), 49)


class Total(unittest.TestCase):
    def test_an_empty_order_costs_nothing(self):
        order = {"items": []}
        self.assertIsNotNone(discount.total(order))

    def test_one_item(self):
        self.assertEqual(discount.total({"items": [item("lamp", 8000, 25)]}), 6000)

    def test_several_items(self):
        self.assertEqual(discount.total({"items": [item("kettle", 4900), item("tea", 650, 10)]}), 5485)


class Saved(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(discount.saved({"items": [item("book", 1990)]}), 0)

    def test_something(self):
        self.assertEqual(discount.saved({"items": [item("lamp", 8000, 25)]}), 2000)


class AverageDiscount(unittest.TestCase):
    def test_one_item(self):
        self.assertEqual(discount.average_discount({"items": [item("lamp", 8000, 25)]}), 25)

    def test_several_items(self):
        self.assertEqual(discount.average_discount({"items": [item("kettle", 4900), item("tea", 650, 10)]}), 5)
