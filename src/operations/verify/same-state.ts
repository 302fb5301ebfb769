import type { Content, State } from '../../snapshot/index.ts';

/** Every member is the same, also those that the comparison of two snapshots does not look at. */
export function isSameState(a: State | undefined, b: State | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.kind === b.kind &&
    a.mode === b.mode &&
    a.uid === b.uid &&
    a.gid === b.gid &&
    a.size === b.size &&
    isSameContent(a.content, b.content)
  );
}

function isSameContent(a: Content, b: Content): boolean {
  switch (a.is) {
    case 'digest':
      return b.is === 'digest' && a.digest === b.digest;
    case 'identity':
      return b.is === 'identity' && a.identity === b.identity;
    case 'unknown':
      return b.is === 'unknown' && a.reason === b.reason && a.identity === b.identity;
    case 'device':
      return b.is === 'device' && a.number === b.number;
    case 'nothing':
      return b.is === 'nothing';
  }
}
