"""Tells the error tracker about an exception, where there is one."""

import json
import os
import traceback
import urllib.request


def report(error, route):
    tracker = os.environ.get("SHOP_TRACKER")
    if not tracker:
        return
    stack = "".join(traceback.format_exception(error)).replace(os.getcwd() + "/", "")
    event = {
        "type": type(error).__name__,
        "message": str(error),
        "stack": stack,
        "route": route,
        "release": os.environ.get("SHOP_RELEASE"),
    }
    request = urllib.request.Request(tracker, json.dumps(event).encode(), {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=5).close()
