import { expect, it } from 'vitest';
import { showStates } from '../../../../src/cli/render/state.ts';

it('a device is shown with its number, as its mode is', () => {
  const device = (number: string) =>
    ({
      kind: 'char-device',
      mode: 0o600,
      uid: 0,
      gid: 0,
      size: 0,
      content: { is: 'device', number },
    }) as unknown as NonNullable<Parameters<typeof showStates>[0]>;
  expect(showStates(undefined, device('1:3'))).toBe('char-device 0600 1:3');
  expect(showStates(device('1:3'), device('1:5'))).toBe('char-device 1:3 → 1:5');
});
