// A reporter for mocha: one JSON object a line about each test.
'use strict';
const { idOf, parted, raisedInTestCode, Report } = require('./shared.cjs');

const OUTSIDE = new Set(['ERR_MOCHA_TIMEOUT', 'ERR_MOCHA_MULTIPLE_DONE']);

function idOfTest(test) {
  return idOf(test.file ?? '', test.titlePath());
}

module.exports = class {
  constructor(runner) {
    const report = new Report();
    runner.on('test', (test) => report.line({ start: idOfTest(test) }));
    runner.on('pass', (test) => report.put({ id: idOfTest(test), status: 'pass' }));
    runner.on('pending', (test) => report.put({ id: idOfTest(test), status: 'skip', message: 'pending' }));
    runner.on('fail', (test, error) => {
      const text = String(error?.message ?? error ?? '');
      const kind = error?.name ?? parted(String(error?.stack ?? '').split('\n')[0]).kind;
      const inside = test.type === 'test' && !OUTSIDE.has(error?.code);
      const asserts = error?.code === 'ERR_ASSERTION' || /AssertionError$/.test(kind);
      const assertion = asserts && raisedInTestCode(error?.stack, test.file);
      report.failed(idOfTest(test), { inside, assertion, kind, message: text, stack: error?.stack });
    });
    runner.once('end', () => report.end());
  }
};
