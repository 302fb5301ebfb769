/** What can be taken back, in the one wording; a file of its own so that a renderer's caller loads nothing else for it. */
export { reversibilityOf, wordUnseen } from '../capsule/write.ts';
