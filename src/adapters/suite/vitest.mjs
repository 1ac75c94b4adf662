// A reporter for vitest: one JSON object a line about each test.
import shared from './shared.cjs';

const { idOf, parted, raisedInTestCode, Report } = shared;

export default class {
  report = new Report();
  told = false;

  // Since version 3.
  onTestRunEnd(modules, errors) {
    this.tell(modules.map((module) => module.task ?? module), errors);
  }

  onFinished(files, errors) {
    this.tell(files, errors);
  }

  tell(files, errors) {
    if (this.told) return;
    this.told = true;
    for (const file of files) {
      const path = file.filepath ?? file.moduleId;
      this.walk(path, [], file);
      for (const error of file.result?.errors ?? []) {
        this.report.put({ load: idOf(path, []), message: `${error.name}: ${error.message}`.slice(0, 2000) });
      }
    }
    for (const error of errors ?? []) {
      this.report.put({ load: 'vitest', message: `unhandled: ${error.name}: ${error.message}`.slice(0, 2000) });
    }
    this.report.end();
  }

  walk(path, titles, task) {
    for (const one of task.tasks ?? []) {
      const around = [...titles, one.name];
      if (one.type === 'suite') {
        this.walk(path, around, one);
        for (const error of one.result?.errors ?? []) {
          this.report.put({ load: idOf(path, around), message: `${error.name}: ${error.message}`.slice(0, 2000) });
        }
      } else {
        this.test(path, idOf(path, around), one);
      }
    }
  }

  test(path, id, one) {
    const state = one.result?.state ?? one.mode;
    const error = one.result?.errors?.[0];
    if (state === 'pass') {
      this.report.put({ id, status: 'pass' });
    } else if (state !== 'fail') {
      this.report.put({ id, status: 'skip', message: String(state) });
    } else {
      const text = String(error?.message ?? '');
      const kind = error?.name ?? parted(String(error?.stack ?? '').split('\n')[0]).kind;
      const stack = error?.stack ?? '';
      // A hook that did not pass was what failed.
      const hooks = Object.values(one.result?.hooks ?? {}).every((hook) => hook === 'pass');
      const inside = hooks && !/^(Test|Hook) timed out in /.test(text);
      const asserts = error?.code === 'ERR_ASSERTION' || /AssertionError$/.test(kind);
      const assertion = asserts && raisedInTestCode(stack, path, stack.includes('/@vitest/expect/'));
      this.report.failed(id, { inside, assertion, kind, message: text, stack });
    }
  }
}
