/** The same as in package.json; a test compares them. A constant, so that nothing has to be read at start. */
export const VERSION = '0.1.0';
