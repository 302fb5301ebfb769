/** Names under which keys, tokens and passwords are kept, by wide custom. A name is all that is looked at: what is not among them is not known to be harmless. */
const NAMES: ReadonlySet<string> = new Set([
  '.env',
  '.htpasswd',
  '.netrc',
  '.npmrc',
  '.pgpass',
  '.pypirc',
  'credentials',
  'credentials.json',
  'id_dsa',
  'id_ecdsa',
  'id_ed25519',
  'id_rsa',
]);

const ENDINGS = ['.jks', '.kdbx', '.key', '.keystore', '.p12', '.pem', '.pfx', '.tfvars'];

/** Does the last name of a path look as if the file held a secret? */
export function looksSecret(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return NAMES.has(name) || name.startsWith('.env.') || ENDINGS.some((ending) => name.endsWith(ending));
}
