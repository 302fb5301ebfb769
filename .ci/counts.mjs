// Prints the closing line of a test run from vitest's own JSON result; fails when nothing was executed.
import { readFileSync } from 'node:fs';

const text = readFileSync(process.argv[2] ?? '', 'utf8');
const result = text === '' ? {} : JSON.parse(text);
// A file that could not be loaded has no failed test of its own and still counts as one failure.
const brokenFiles = (result.testResults ?? []).filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
).length;
const passed = result.numPassedTests ?? 0;
const failed = (result.numFailedTests ?? 0) + brokenFiles;
const skipped = (result.numPendingTests ?? 0) + (result.numTodoTests ?? 0);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = passed + failed === 0 || failed > 0 || result.success !== true ? 1 : 0;
