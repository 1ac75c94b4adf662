"""Routes: a path in; status, content type and body out."""

import json
import os

from shop import VERSION, discount, money, orders
from shop.report import report

served = 0


def respond(path):
    global served
    if path == "/health":
        return page(200, health())
    served += 1
    route = "/orders/{id}" if path.startswith("/orders/") else path
    try:
        return page(*order_page(path))
    except Exception as error:
        report(error, route)
        return page(500, {"error": "internal error"})


def page(status, body):
    return status, "application/json", json.dumps(body)


def health():
    return {"ok": True, "version": VERSION, "release": os.environ.get("SHOP_RELEASE"), "requests": served}


def order_page(path):
    number = path.removeprefix("/orders/")
    order = orders.find(int(number)) if path.startswith("/orders/") and number.isdigit() else None
    if order is None:
        return 404, {"error": "no such page"}
    return 200, show(order)


def show(order):
    return {
        "id": order["id"],
        "customer": order["customer"],
        "items": [item["name"] for item in order["items"]],
        "total": money.show(discount.total(order)),
        "saved": money.show(discount.saved(order)),
    }
