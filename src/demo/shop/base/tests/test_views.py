import json
import unittest

from shop.views import respond


def read(path):
    status, _, body = respond(path)
    return status, json.loads(body)


class Views(unittest.TestCase):
    def test_health(self):
        status, body = read("/health")
        self.assertEqual((status, body["ok"]), (200, True))

    def test_health_does_not_count_itself(self):
        before = read("/health")[1]["requests"]
        self.assertEqual(read("/health")[1]["requests"], before)

    def test_orders_are_counted(self):
        before = read("/health")[1]["requests"]
        read("/orders/1")
        self.assertEqual(read("/health")[1]["requests"], before + 1)

    def test_order(self):
        status, body = read("/orders/1")
        self.assertEqual(status, 200)
        self.assertEqual(body["items"], ["kettle", "tea"])
        self.assertEqual(body["total"], "54.85")

    def test_saved(self):
        self.assertEqual(read("/orders/2")[1]["saved"], "20.00")

    def test_unknown_order(self):
        self.assertEqual(read("/orders/99")[0], 404)

    def test_unknown_page(self):
        self.assertEqual(read("/basket")[0], 404)

    def test_not_a_number(self):
        self.assertEqual(read("/orders/x")[0], 404)
