// A reporter for jest: one JSON object a line about each test.
'use strict';
const { idOf, parted, raisedInTestCode, Report } = require('./shared.cjs');

const SKIPPED = new Set(['pending', 'skipped', 'todo', 'disabled']);

// What stands before the first line of the stack.
function said(text) {
  const at = text.search(/\n\s+at /);
  return at < 0 ? text : text.slice(0, at);
}

module.exports = class {
  report = new Report();

  onTestFileStart(test) {
    this.report.line({ start: idOf(test.path, []) });
  }

  onTestFileResult(test, result) {
    const file = result.testFilePath ?? test.path;
    const error = result.testExecError;
    if (error) {
      const message = error.message ?? error._originalMessage ?? result.failureMessage ?? 'it cannot be loaded';
      this.report.put({ load: idOf(file, []), message: String(message).slice(0, 2000) });
    }
    for (const one of result.testResults) {
      const id = idOf(file, [...one.ancestorTitles, one.title]);
      if (one.status === 'passed') {
        this.report.put({ id, status: 'pass' });
      } else if (SKIPPED.has(one.status)) {
        this.report.put({ id, status: 'skip', message: one.status });
      } else {
        this.failed(id, file, one);
      }
    }
  }

  failed(id, file, one) {
    const stack = String(one.failureMessages[0] ?? '');
    const detail = one.failureDetails?.[0] ?? {};
    const { kind, message } = parted(said(stack).replace(/^Error: (?=expect\(|thrown: )/, ''), detail.name);
    // Hooks and deadlines are not the test's own body.
    const inside = !stack.includes('_callCircusHook') && !/^thrown: "Exceeded timeout/.test(message);
    // jest words the errors of node:assert anew, without their name.
    const asserts = detail.matcherResult || /^assert(\.\w+)?\(received/.test(message) || /(^|\.)AssertionError$/.test(kind);
    const assertion = Boolean(asserts) && raisedInTestCode(stack, file, Boolean(detail.matcherResult));
    this.report.failed(id, { inside, assertion, kind: asserts ? 'AssertionError' : kind, message, stack });
  }

  onRunComplete(contexts, results) {
    if (results.runExecError) this.report.put({ load: 'jest', message: String(results.runExecError.message) });
    if (!results.wasInterrupted) this.report.end();
  }
};
