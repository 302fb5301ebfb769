import * as fs from 'node:fs';
import { expect, it, vi } from 'vitest';
import { diffCommand } from '../../../src/cli/commands/diff.ts';
import { Output } from '../../../src/cli/output.ts';
import { observed, setting } from '../../support/context.ts';

it('compares no more than its reader takes: one at a time, and nothing for one that went away', async () => {
  const here = setting();
  observed(here, () => {
    for (const name of ['a', 'b', 'c']) fs.writeFileSync(here.at(name), `${name}\n`);
  });
  const output = new Output({}, false);
  const session = { context: here.context, place: here.place, output, json: false };
  let inFlight = 0;
  let most = 0;
  const print = vi.spyOn(output, 'print').mockImplementation(async () => {
    most = Math.max(most, ++inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    inFlight--;
    return true;
  });
  await diffCommand(session, 'last', []);
  expect([print.mock.calls.length, most]).toEqual([3, 1]);
  print.mockClear();
  print.mockResolvedValue(false);
  expect(await diffCommand(session, 'last', [])).toBe(0);
  expect(print).toHaveBeenCalledTimes(1);
});
