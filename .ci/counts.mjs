// Prints the closing line of a test run from vitest's own JSON result; fails when nothing was executed, and on CI when anything was skipped:
// all that the tests need is installed there, so a skipped one is a hole that nobody would see.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const text = readFileSync(process.argv[2] ?? '', 'utf8');
const result = text === '' ? {} : JSON.parse(text);
const files = result.testResults ?? [];
// A file that could not be loaded has no failed test of its own and still counts as one failure.
const brokenFiles = files.filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
).length;
const passed = result.numPassedTests ?? 0;
const failed = (result.numFailedTests ?? 0) + brokenFiles;
// `skipped` of a test that was left out by its condition or by itself, `pending` of one that never got its turn, `todo` of one not written.
const skipped = files.flatMap((file) =>
  file.assertionResults
    .filter((test) => !['passed', 'failed'].includes(test.status))
    .map((test) => `${test.status}: ${relative(process.cwd(), file.name)}: ${test.fullName}`),
);
for (const line of skipped) console.log(line);
console.log(`${passed} passed, ${failed} failed, ${skipped.length} skipped`);
const isHole = skipped.length > 0 && process.env.CI === 'true';
process.exitCode = passed + failed === 0 || failed > 0 || isHole || result.success !== true ? 1 : 0;
