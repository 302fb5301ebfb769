/** Entries that are neither files, directories nor links: recorded by what they are, never opened, never made. */
import * as fs from 'node:fs';
import { expect, it } from 'vitest';
import { sandbox } from '../support/cli.ts';
import { expectIntact, recover, shownChanges, skipUnless } from '../support/reports.ts';

const BIND = `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'`;

it('N2: a socket is recorded as one, and a recover leaves it out with the reason', () => {
  const box = sandbox();
  expect(box.bash(`${BIND}; chmod 640 s; echo 1 > f`).status).toBe(0);
  const ended = box.bash(`timeout 60 T run -- sh -c 'rm s f'`);
  expect(ended.status, ended.stderr).toBe(0);
  expect(shownChanges(box)).toMatchObject([
    { path: 'f', recoverable: true },
    {
      path: 's',
      before: { state: { kind: 'socket', mode: 0o640 } },
      recoverable: false,
      reason: 'unsupported-kind',
    },
  ]);
  // Where it is not asked for it does not count; a recover of everything asks for everything.
  expect(recover(box, 'last', 'f')).toEqual({ status: 0, results: ['restored f'] });
  const run = box.json(['list']).runs[0].runId;
  expect(recover(box, run, 's')).toEqual({ status: 3, results: ['refused s: unsupported-kind'] });
  expect(fs.readdirSync(box.ws)).toEqual(['f']);
  expectIntact(box);
});

it('N2: a socket that the run made is removed', () => {
  const box = sandbox();
  expect(box.bash(`T run -- ${BIND}`).status).toBe(0);
  expect(fs.readdirSync(box.ws)).toEqual(['s']);
  expect(recover(box)).toEqual({ status: 0, results: ['removed s'] });
  expect(fs.readdirSync(box.ws)).toEqual([]);
});

it('N3: a device is recorded by type and number, is never opened, and is never made', (context) => {
  skipUnless(context, process.getuid?.() === 0, 'only root makes devices');
  const box = sandbox();
  // Opening the first fails with ENXIO, as no driver has that number; reading the second would not end.
  box.bash('mknod none c 240 200; mknod zero c 1 5; mknod -m 600 disk b 7 250');
  const idle = box.bash('timeout 60 T run -- true');
  expect(idle.status, idle.stderr).toBe(0);
  expect(box.json(['show']).capsule.coverage.complete).toBe(true);
  expect(box.bash('timeout 60 T run -- rm none zero disk').status).toBe(0);
  const device = (kind: string, number: string): unknown => ({
    before: { state: { kind, content: { is: 'device', number } } },
    recoverable: false,
    reason: 'unsupported-kind',
  });
  expect(shownChanges(box)).toMatchObject([
    device('block-device', '7:250'),
    device('character-device', '240:200'),
    device('character-device', '1:5'),
  ]);
  expect(recover(box)).toEqual({
    status: 3,
    results: ['disk', 'none', 'zero'].map((name) => `refused ${name}: unsupported-kind`),
  });
  expect(fs.readdirSync(box.ws)).toEqual([]);
  expectIntact(box);
});
