import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareOutputFile } from '../../../src/operations/output.ts';
import { temporaryDir } from '../../support/temporary.ts';

const unwritable = expect.objectContaining({ code: 'OUTPUT_UNWRITABLE' }) as Error;

describe('prepareOutputFile', () => {
  it('leaves nothing behind until something is written', () => {
    const dir = temporaryDir();
    const file = prepareOutputFile(join(dir, 'result.json'));
    expect(readdirSync(dir)).toEqual([]);
    file.write('{}\n');
    expect(readdirSync(dir)).toEqual(['result.json']);
    expect(readFileSync(join(dir, 'result.json'), 'utf8')).toBe('{}\n');
  });

  it('replaces a regular file as a whole', () => {
    const path = join(temporaryDir(), 'result.json');
    writeFileSync(path, 'a longer text than the new one');
    const file = prepareOutputFile(path);
    expect(readFileSync(path, 'utf8')).toContain('longer');
    file.write('new');
    expect(readFileSync(path, 'utf8')).toBe('new');
  });

  it('never takes a link, a directory or a device away', () => {
    const dir = temporaryDir();
    writeFileSync(join(dir, 'target'), 'kept');
    symlinkSync('target', join(dir, 'link'));
    mkdirSync(join(dir, 'directory'));
    for (const path of [join(dir, 'link'), join(dir, 'directory'), '/dev/null']) {
      expect(() => prepareOutputFile(path), path).toThrowError(unwritable);
    }
    expect(readFileSync(join(dir, 'target'), 'utf8')).toBe('kept');
  });

  it('notices a link that was put there meanwhile', () => {
    const dir = temporaryDir();
    const file = prepareOutputFile(join(dir, 'result.json'));
    symlinkSync('elsewhere', join(dir, 'result.json'));
    expect(() => file.write('{}')).toThrowError(unwritable);
    expect(existsSync(join(dir, 'elsewhere'))).toBe(false);
  });

  it('fails early where nothing can be written', () => {
    const dir = temporaryDir();
    for (const path of [join(dir, 'missing', 'file'), `${dir}/`, `${dir}/..`, '/proc/nothing']) {
      expect(() => prepareOutputFile(path), path).toThrowError(unwritable);
    }
  });
});
