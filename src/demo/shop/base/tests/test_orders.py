import unittest

from shop import orders


class Orders(unittest.TestCase):
    def test_find(self):
        self.assertEqual(orders.find(2)["customer"], "Omar")

    def test_unknown(self):
        self.assertIsNone(orders.find(99))

    def test_ids_match(self):
        for number, order in orders.ORDERS.items():
            self.assertEqual(order["id"], number)

    def test_an_item_has_no_discount_by_default(self):
        self.assertEqual(orders.item("pen", 100)["discount"], 0)

    def test_with_items(self):
        found = [order["id"] for order in orders.with_items(orders.ORDERS.values())]
        self.assertEqual(found, [1, 2, 3, 5])
