/**
 * One file here is one use case: `run.ts`, `verify.ts`, … Each is an entrance of its own, so that a command loads only what it needs;
 * this file holds the types that they share.
 */
export type { Context, Logger, Place } from './workspace/context.ts';
export type { RootRule } from './workspace/root.ts';
