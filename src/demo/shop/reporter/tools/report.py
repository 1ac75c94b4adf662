"""Runs the tests and writes a report of them, as CI keeps it."""

import sys
import time
import unittest
from xml.etree import ElementTree


class Report(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.suite = ElementTree.Element("testsuite", name="shop")
        self.began = time.monotonic()

    def case(self, test, kind=None, err=None):
        place, _, name = test.id().rpartition(".")
        took = f"{time.monotonic() - self.began:.3f}"
        case = ElementTree.SubElement(self.suite, "testcase", classname=place, name=name, time=took)
        if kind:
            text = self._exc_info_to_string(err, test)
            said = f"{err[0].__name__}: {err[1]}"
            ElementTree.SubElement(case, kind, type=err[0].__name__, message=said).text = text

    def addSuccess(self, test):
        super().addSuccess(test)
        self.case(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.case(test, "failure", err)

    def addError(self, test, err):
        super().addError(test, err)
        self.case(test, "error", err)


sys.path.insert(0, "")
runner = unittest.TextTestRunner(resultclass=Report, verbosity=2)
result = runner.run(unittest.defaultTestLoader.discover("tests"))
ElementTree.ElementTree(result.suite).write(sys.argv[1], encoding="utf-8", xml_declaration=True)
sys.exit(0 if result.wasSuccessful() else 1)
