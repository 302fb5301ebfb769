import type { FileProblemWord } from '../../capsule/index.ts';

/** What is wrong with a file of a capsule, in words that follow its name. */
export const FILE_PROBLEMS: Readonly<Record<FileProblemWord, string>> = {
  missing: 'the file is not there',
  extra: 'the capsule has no such file; it was added',
  'not-a-file': 'something else is there, not a regular file',
  unreadable: 'the file cannot be read',
  'too-large': 'the file, or a line of it, is larger than the format allows',
  'cut-short': 'the end of the file is missing',
  changed: 'the file is not the one that was sealed',
  'nothing-listed': 'the manifest is empty',
  malformed: 'the manifest is not what the format says',
  'not-listed': 'the manifest does not name the file',
};

export function isFileProblem(word: unknown): word is FileProblemWord {
  return typeof word === 'string' && Object.hasOwn(FILE_PROBLEMS, word);
}
