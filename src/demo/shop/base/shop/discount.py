"""What an order costs once its discounts are taken off."""


def price(item):
    return item["price"] * (100 - item["discount"]) // 100


def total(order):
    return sum(price(item) for item in order["items"])


def saved(order):
    return sum(item["price"] for item in order["items"]) - total(order)
