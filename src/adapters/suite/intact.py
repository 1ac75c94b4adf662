# What tests are judged by, as it was before anything of the tree was loaded: whoever changes how a test runs or asserts
# decides what its result means.
import hashlib
import json
import os
import sys
import types


def sealed(path, word):
    """Writes a report: one function for a line, one for the last. What seals it can be named by nothing that runs later, and
    the word is written nowhere."""
    file = open(path, "w", encoding="utf-8", errors="backslashreplace")
    inner, outer = hashlib.sha256(word.encode()), hashlib.sha256(word.encode())
    dumps = json.dumps

    def line(fields):
        text = dumps(fields) + "\n"
        inner.update(text.encode("utf-8", "backslashreplace"))
        file.write(text)
        file.flush()

    def end(written):
        outer.update(inner.hexdigest().encode())
        file.write(dumps({"end": written, "seal": outer.hexdigest()}) + "\n")
        file.close()

    return line, end


class Intact:
    def __init__(self, *roots):
        self.home = os.path.realpath(os.getcwd()) + os.sep
        self.was = [part for root in roots for part in parts_of(root)]

    def changed(self):
        """The first part that the tree put something of its own in place of, by its name; nothing where all is as it was."""
        for place, owner, name, value in self.was:
            now = vars(owner).get(name)
            if now is not value and self.is_own(now):
                return place + "." + name
        return None

    def is_own(self, value):
        code = code_of(value)
        if code is None:
            # Nothing, a mock, a constant: no part of a runner is that.
            return True
        return os.path.realpath(code.co_filename).startswith(self.home) and "site-packages" not in code.co_filename


def parts_of(root):
    for name, module in sorted(sys.modules.items()):
        if name != root and not name.startswith(root + "."):
            continue
        owners = [(name, module)]
        for key, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == name:
                owners.append((name + "." + key, value))
        for place, owner in owners:
            for key, value in list(vars(owner).items()):
                if code_of(value) is not None:
                    yield place, owner, key, value


def code_of(value):
    for name in ("__func__", "fget", "func", "__wrapped__"):
        value = getattr(value, name, None) or value
    return value.__code__ if isinstance(value, types.FunctionType) else None


