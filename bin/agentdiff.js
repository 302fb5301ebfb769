#!/usr/bin/env node
// No module.enableCompileCache(): its default folder lies in the system's temporary folder, outside our own.
require('../dist/start.cjs');
