"""What an order costs once its discounts are taken off."""


def price(item):
    return item["price"] * (100 - item["discount"]) // 100


def average_discount(order):
    """In percent, as shown to the customer."""
    percents = [item["discount"] for item in order["items"]]
    return sum(percents) / len(percents)


def total(order):
    return sum(price(item) for item in order["items"])


def saved(order):
    return sum(item["price"] for item in order["items"]) - total(order)
