// Loaded before the tests of node: its assertions stay what they are, whatever code under test puts in their place.
'use strict';
const assert = require('node:assert');
for (const part of [assert, assert.strict]) {
  for (const name of Object.keys(part)) {
    if (typeof part[name] === 'function') Object.defineProperty(part, name, { writable: false, configurable: false });
  }
}
