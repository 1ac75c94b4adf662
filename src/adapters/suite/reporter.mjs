// A reporter for `node --test`: one JSON object a line about each test. It runs in the process that starts the test files,
// not in theirs.
import { relative, resolve } from 'node:path';
import shared from './shared.cjs';

const { home, idOf, raisedInTestCode, Report } = shared;
const bodies = new Set(['testCodeFailure', 'uncaughtException', 'unhandledRejection', 'multipleCallbackInvocations']);

export default async function* report(source) {
  const out = new Report();
  const open = [];
  const said = new Map();
  for await (const { type, data } of source) {
    if (type === 'test:stderr') {
      said.set(data.file, ((said.get(data.file) ?? '') + data.message).slice(-4000));
      continue;
    }
    if (type === 'test:start') {
      open.length = data.nesting;
      open[data.nesting] = data.name;
      out.line({ start: data.name });
      continue;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const file = data.file ?? '';
    const place = relative(home, resolve(home, file));
    const whole = data.nesting === 0 && resolve(home, data.name) === resolve(home, file);
    const id = whole ? place : idOf(file, open.slice(0, data.nesting).concat(data.name));
    const error = data.details?.error;
    const why = error?.failureType ?? '';
    const group = data.details?.type === 'suite';
    if (data.skip !== undefined || data.todo !== undefined) {
      out.put({ id, status: 'skip', message: String(data.skip ?? data.todo) });
    } else if (type === 'test:pass') {
      if (!group) out.put({ id, status: 'pass' });
    } else if (why === 'subtestsFailed') {
      // The subtests carry their own ids; the body around them did what it should.
      if (!group) out.put({ id, status: 'pass' });
    } else {
      const cause = error?.cause ?? error;
      const text = String(cause?.message ?? cause ?? '');
      if (whole) {
        const lines = (said.get(file) ?? '').split('\n').map((l) => l.trim());
        out.put({ load: place, message: lines.find((l) => /^\w*(Error|Exception)\b/.test(l)) ?? text });
      } else if (group) {
        out.put({ load: id, message: `${why}: ${text}` });
      } else {
        const inside = bodies.has(why);
        const assertion = cause?.code === 'ERR_ASSERTION' && raisedInTestCode(cause.stack, file);
        out.failed(id, { inside, assertion, kind: inside ? cause?.name ?? '' : why, message: text, stack: cause?.stack });
      }
    }
  }
  out.end();
  // What is yielded goes to a destination that nobody reads.
  yield '';
}
