// A reporter for `node --test`: one JSON object a line about each test. Read once at the start from standard input:
// a word that only the last line repeats. It runs in the process that starts the test files, not in theirs.
import { readFileSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const { nonce } = JSON.parse(readFileSync(0, 'utf8'));
const home = process.cwd();
const bodies = new Set(['testCodeFailure', 'uncaughtException', 'unhandledRejection', 'multipleCallbackInvocations']);

function isTestPath(path) {
  return path.split(sep).some((part) => /^(tests?|specs?|__tests__)$/i.test(part) || /[._-](test|spec)s?\.[a-z]+$/i.test(part) || /^test/i.test(part));
}

// The innermost line within the tree, below node's own and the dependencies' lines, has to be a test's.
function raisedInTestCode(stack, file) {
  for (const line of String(stack ?? '').split('\n')) {
    const found = /(?:\(|at )((?:file:\/\/)?\/.*?):\d+:\d+\)?$/.exec(line.trim());
    if (!found) continue;
    const path = found[1].startsWith('file://') ? fileURLToPath(found[1]) : found[1];
    if (!path.startsWith(home + sep) || path.includes(`${sep}node_modules${sep}`)) continue;
    return path === file || isTestPath(relative(home, path));
  }
  return false;
}

export default async function* report(source) {
  const open = [];
  const said = new Map();
  let written = 0;
  const line = (fields) => JSON.stringify(fields) + '\n';
  for await (const { type, data } of source) {
    if (type === 'test:stderr') {
      said.set(data.file, ((said.get(data.file) ?? '') + data.message).slice(-4000));
      continue;
    }
    if (type === 'test:start') {
      open.length = data.nesting;
      open[data.nesting] = data.name;
      yield line({ start: data.name });
      continue;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const file = data.file ?? '';
    const place = relative(home, resolve(home, file));
    const whole = data.nesting === 0 && resolve(home, data.name) === resolve(home, file);
    const path = open.slice(0, data.nesting).concat(data.name);
    const id = whole ? place : [place, ...path].join(' > ');
    const error = data.details?.error;
    const why = error?.failureType ?? '';
    const group = data.details?.type === 'suite';
    const put = (fields) => {
      written += 1;
      return line(fields);
    };
    if (data.skip !== undefined || data.todo !== undefined) {
      yield put({ id, status: 'skip', message: String(data.skip ?? data.todo) });
    } else if (type === 'test:pass') {
      if (!group) yield put({ id, status: 'pass' });
    } else if (why === 'subtestsFailed') {
      // The subtests carry their own ids; the body around them did what it should.
      if (!group) yield put({ id, status: 'pass' });
    } else {
      const cause = error?.cause ?? error;
      const text = String(cause?.message ?? cause ?? '');
      if (whole) {
        const lines = (said.get(file) ?? '').split('\n').map((l) => l.trim());
        yield put({ load: place, message: lines.find((l) => /^\w*(Error|Exception)\b/.test(l)) ?? text });
      } else if (group) {
        yield put({ load: id, message: `${why}: ${text}` });
      } else {
        const inside = bodies.has(why);
        const assertion = inside && cause?.code === 'ERR_ASSERTION' && raisedInTestCode(cause.stack, file);
        const kind = inside ? cause?.name ?? '' : why;
        const status = assertion ? 'fail' : 'error';
        yield put({ id, status, inside, assertion, kind, message: text.slice(0, 8000), trace: String(cause?.stack ?? '').slice(0, 8000) });
      }
    }
  }
  yield line({ end: written, nonce });
}
