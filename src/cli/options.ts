/** The options that every command takes, before or after its name. */
export interface CommonOptions {
  readonly root?: string;
  readonly store?: string;
  readonly allowRoot?: boolean;
  readonly json?: boolean;
  readonly debug?: boolean;
  readonly verbose?: boolean;
  readonly logFile?: string;
  /** `--no-color` makes it false. */
  readonly color?: boolean;
}

export interface RunOptions extends CommonOptions {
  readonly task?: string;
  readonly capture?: readonly string[];
  readonly failOn?: 'never' | 'review' | 'deny';
  readonly resultFile?: string;
  readonly quiet?: boolean;
  readonly policy?: string;
  readonly maxFileSize?: string;
  readonly maxHashSize?: string;
  readonly maxNewBytes?: string;
  readonly maxStoreSize?: string;
  readonly minFree?: string;
  readonly bestEffort?: boolean;
  readonly fullScan?: boolean;
}

export interface DoctorOptions extends CommonOptions {
  readonly policy?: string;
}

export interface RecoverOptions extends CommonOptions {
  readonly path?: readonly string[];
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export interface VerifyOptions extends CommonOptions {
  readonly expect?: string;
}

export interface GcOptions extends CommonOptions {
  readonly keepLast?: string;
  readonly keepWithin?: string;
  readonly maxSize?: string;
  readonly interrupted?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}
