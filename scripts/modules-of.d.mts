/** The root of the project, with a slash at the end. */
export const project: string;
export function modulesOf(entry: string): Promise<ReadonlySet<string>>;
