import json
import unittest

from shop.views import respond


class OrderWithoutItems(unittest.TestCase):
    def test_order_without_items(self):
        status, _, body = respond("/orders/4")
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(body)["average_discount"], 0)
