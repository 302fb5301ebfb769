import * as fs from 'node:fs';
import { expect, it } from 'vitest';
import { linesOf, observed, recovered, setting } from '../../../support/context.ts';
import { wrapCalls } from '../../../support/system-calls.ts';

it('what somebody changed after it was put back, while the recover was still at work, is not called restored', () => {
  const here = setting();
  for (const name of ['a', 'b']) fs.writeFileSync(here.at(name), 'old');
  observed(here, () => {
    for (const name of ['a', 'b']) fs.writeFileSync(here.at(name), 'new');
  });
  // `a` stands again when the entry of `b` is moved aside.
  const release = wrapCalls(['renameSync'], (_, [from]) => {
    if (String(from).endsWith('/b')) fs.appendFileSync(here.at('a'), ', and mine');
  });
  try {
    const report = recovered(here);
    expect(linesOf(report)).toEqual(['refused a: changed-during', 'restored b']);
    expect(report.exitStatus).toBe(3);
  } finally {
    release();
  }
  expect(fs.readFileSync(here.at('a'), 'utf8')).toBe('old, and mine');
});

it('what somebody made again after it was removed is not called removed', () => {
  const here = setting();
  observed(here, () => {
    for (const name of ['a', 'b']) fs.writeFileSync(here.at(name), 'new');
  });
  const release = wrapCalls(['renameSync'], (_, [from]) => {
    if (String(from).endsWith('/b')) fs.writeFileSync(here.at('a'), 'mine');
  });
  try {
    expect(linesOf(recovered(here))).toEqual(['refused a: changed-during', 'removed b']);
  } finally {
    release();
  }
  expect(fs.readFileSync(here.at('a'), 'utf8')).toBe('mine');
});

it('what was found changed again is said too when the recover cannot be sealed', () => {
  const here = setting();
  for (const name of ['a', 'b']) fs.writeFileSync(here.at(name), 'old');
  observed(here, () => {
    for (const name of ['a', 'b']) fs.writeFileSync(here.at(name), 'new');
  });
  const release = wrapCalls(['renameSync', 'openSync'], (call, [file]) => {
    if (call === 'renameSync' && String(file).endsWith('/b')) fs.appendFileSync(here.at('a'), ', and mine');
    if (
      call === 'openSync' &&
      String(file).endsWith('/capsule.json') &&
      fs.readFileSync(here.at('b'), 'utf8') === 'old'
    )
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  });
  try {
    const report = recovered(here);
    expect(report.sealError?.code).toBe('STORE_FULL');
    expect(linesOf(report)).toEqual(['refused a: changed-during', 'restored b']);
  } finally {
    release();
  }
});
