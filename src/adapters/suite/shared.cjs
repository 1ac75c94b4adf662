// What the reporters of JavaScript runners share. They run in the process that starts the test files. Read once at the start
// from standard input: where to write, and a word that seals what was written. Neither can be named by what runs later, and
// the word is written nowhere.
'use strict';
const { createHash, Hash } = require('node:crypto');
const { openSync, readFileSync, writeSync } = require('node:fs');
const { relative, resolve, sep } = require('node:path');
const { fileURLToPath } = require('node:url');

const home = process.cwd();
// As they are before anything of the tree is loaded.
const { apply } = Reflect;
const { assign, create } = Object;
const { stringify } = JSON;
const { update, digest } = Hash.prototype;

const { path, inner, outer } = (() => {
  const { report, nonce } = JSON.parse(readFileSync(0, 'utf8'));
  const begun = () => createHash('sha256').update(nonce);
  return { path: report, inner: begun(), outer: begun() };
})();

function isTestPath(path) {
  return path.split(sep).some((part) => /^(tests?|specs?|__tests__)$/i.test(part) || /[._-](test|spec)s?\.[a-z]+$/i.test(part) || /^test/i.test(part));
}

// The innermost line within the tree, below node's own and the dependencies' lines, has to be a test's. `without` is the
// answer where no line is of the tree: what waited may have lost them.
function raisedInTestCode(stack, file, without = false) {
  for (const line of String(stack ?? '').split('\n')) {
    const found = /(?:\(|at (?:async )?)((?:file:\/\/)?\/.*?):\d+:\d+\)?$/.exec(line.trim());
    if (!found) continue;
    const path = found[1].startsWith('file://') ? fileURLToPath(found[1]) : found[1];
    if (!path.startsWith(home + sep) || path.includes(`${sep}node_modules${sep}`)) continue;
    return path === file || isTestPath(relative(home, path));
  }
  return without;
}

// Where a test stands: its file, then the titles around it and its own.
function idOf(file, titles) {
  return [relative(home, resolve(home, file)), ...titles].join(' > ');
}

// `TypeError: x` and `AssertionError [ERR_ASSERTION]: x`, taken apart.
function parted(text, name) {
  const found = /^((?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*(?:Error|Exception)[\w$]*)(?: \[\w+\])?(?:: ([^]*))?$/.exec(text);
  return found ? { kind: found[1], message: found[2] ?? '' } : { kind: name ?? '', message: text };
}

class Report {
  constructor() {
    this.file = openSync(path, 'w');
    this.written = 0;
  }

  line(fields) {
    const line = `${stringify(assign(create(null), fields))}\n`;
    apply(update, inner, [line]);
    writeSync(this.file, line);
  }

  put(fields) {
    this.written += 1;
    this.line(fields);
  }

  failed(id, { inside, assertion, kind, message, stack }) {
    const asserted = inside && assertion;
    this.put({
      id,
      status: asserted ? 'fail' : 'error',
      inside,
      assertion: asserted,
      kind,
      message: message.slice(0, 8000),
      trace: String(stack ?? '').slice(0, 8000),
    });
  }

  end() {
    apply(update, outer, [apply(digest, inner, ['hex'])]);
    writeSync(this.file, `${stringify({ __proto__: null, end: this.written, seal: apply(digest, outer, ['hex']) })}\n`);
  }
}

module.exports = { home, raisedInTestCode, idOf, parted, Report };
