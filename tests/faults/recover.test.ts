import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { observed, recovered, type Setting, setting } from '../support/context.ts';
import { callsOf, killed, sample } from '../support/die-at.ts';
import { entries } from '../support/fingerprint.ts';
import { removeAll, temporaryDir } from '../support/temporary.ts';

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const POINTS = 40;

/** What stands at each path, without the path's own name. */
type Entries = ReadonlyMap<string, string>;

const isTemporary = (key: string): boolean => key.includes('.agentdiff-tmp-');

/** A workspace with a bit of everything, and a run that changed all of it. */
function damaged(base: string): { here: Setting; before: Entries; left: Entries } {
  fs.mkdirSync(base);
  const here = setting(base);
  const dirs = ['deep/er', 'gone/below', 'kept', 'closed'];
  for (const dir of dirs) fs.mkdirSync(here.at(dir), { recursive: true });
  for (const dir of [...dirs, '.'])
    for (const i of [1, 2, 3]) fs.writeFileSync(here.at(dir, `f${i}`), `${dir} ${i}\n`.repeat(i * 500));
  fs.symlinkSync('kept/f1', here.at('link'));
  fs.writeFileSync(here.at('becomes-dir'), 'file');
  fs.mkdirSync(here.at('becomes-file'));
  fs.chmodSync(here.at('gone/below'), 0o750);
  fs.chmodSync(here.at('closed'), 0o2710);
  const before = entries(here.ws);
  observed(here, () => {
    for (const name of ['gone', 'closed', 'link', 'becomes-dir', 'becomes-file'])
      fs.rmSync(here.at(name), { recursive: true });
    for (const name of ['f1', 'deep/er/f2', 'kept/f3'])
      fs.writeFileSync(here.at(name), `by the run: ${name}`);
    fs.chmodSync(here.at('kept'), 0o700);
    fs.chmodSync(here.at('f2'), 0o600);
    fs.mkdirSync(here.at('becomes-dir'));
    fs.writeFileSync(here.at('becomes-dir/in'), 'made');
    fs.writeFileSync(here.at('becomes-file'), 'made');
    fs.mkdirSync(here.at('new/er'), { recursive: true });
    for (const name of ['new/a', 'new/er/b']) fs.writeFileSync(here.at(name), 'made');
  });
  return { here, before, left: entries(here.ws) };
}

/** Every path is as the run left it or as it was; where it is neither, what the run left is whole beside it. */
function expectOldOrNew(now: Entries, before: Entries, left: Entries): void {
  const set = new Set([...now].filter(([key]) => isTemporary(key)).map(([, value]) => value));
  for (const key of new Set([...before.keys(), ...left.keys(), ...now.keys()])) {
    if (isTemporary(key)) continue;
    const [old, made, is] = [before.get(key), left.get(key), now.get(key)];
    if (is === old || is === made) continue;
    // Between the old entry and the new one the name is free for a moment; one of the two is beside it then.
    const isAside = is === undefined && [old, made].some((value) => value !== undefined && set.has(value));
    // A directory that is being made again is open to us alone until its content is back.
    const isBeingMade = old?.startsWith('directory') === true && is?.startsWith('directory 0700') === true;
    if (!isAside && !isBeingMade) expect({ key, is }).toEqual({ key, is: [old, made] });
  }
}

function expectSafe(place: ReturnType<typeof damaged>, at: number): boolean {
  const { here, before, left } = place;
  const status = killed(here, ['recover', '--yes'], 'writing', at);
  const dead = entries(here.ws);
  const isAllBack = [...before].every(([key, value]) => dead.get(key) === value);
  if (status !== -1) expect(isAllBack).toBe(true);
  expectOldOrNew(dead, before, left);
  const report = recovered(here);
  const now = entries(here.ws);
  expectOldOrNew(now, before, left);
  const refused = new Set(
    report.results.filter(({ result }) => result === 'refused').map(({ path: key }) => String(key)),
  );
  for (const key of new Set([...before.keys(), ...left.keys()])) {
    if (now.get(key) !== before.get(key)) expect([key, refused.has(key)]).toEqual([key, true]);
  }
  // What is not ours to judge yet is still there: a journal will tell what each of these is.
  for (const [key, value] of dead) if (isTemporary(key)) expect([key, now.get(key)]).toEqual([key, value]);
  return refused.size === 0;
}

describe('a recover that is killed', () => {
  it(`before any writing call leaves each path old or new, and can be called again (seed ${SEED})`, () => {
    const base = temporaryDir();
    const whole = damaged(path.join(base, 'whole'));
    const total = callsOf(whole.here, ['recover', '--yes'], 'writing');
    expect(entries(whole.here.ws)).toEqual(whole.before);
    expect(total).toBeGreaterThan(100);
    let finished = 0;
    const points = sample(total, POINTS, SEED);
    for (const at of points) {
      const dir = path.join(base, String(at));
      try {
        if (expectSafe(damaged(dir), at)) finished++;
      } catch (error) {
        throw new Error(`killed before call ${at} of ${total}, seed ${SEED}`, { cause: error });
      }
      removeAll(dir);
    }
    // Most moments lose nothing to the next call; a journal has to see to the few between two names.
    expect(finished).toBeGreaterThan(points.length * 0.75);
  });
});
