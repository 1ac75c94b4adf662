"""The orders that this shop knows."""


def item(name, price, discount=0):
    return {"name": name, "price": price, "discount": discount}


ORDERS = {
    1: {"id": 1, "customer": "Ida", "items": [item("kettle", 4900), item("tea", 650, 10)]},
    2: {"id": 2, "customer": "Omar", "items": [item("lamp", 8000, 25)]},
    3: {"id": 3, "customer": "Wen", "items": [item("chair", 12000, 50), item("desk", 30000), item("mat", 1500, 10)]},
    4: {"id": 4, "customer": "Lea", "items": []},
    5: {"id": 5, "customer": "Tom", "items": [item("book", 1990)]},
}


def find(number):
    return ORDERS.get(number)


def with_items(orders):
    return [order for order in orders if order["items"]]
