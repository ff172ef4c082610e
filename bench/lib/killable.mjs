// A procman whose parts can be killed: that of the fault tests.
import path from 'node:path';
import { tsImport } from 'tsx/esm/api';
import { ROOT } from './common.mjs';

const support = (file) => tsImport(path.resolve(ROOT, '../test/support', file), import.meta.url);
const { KillableProcman } = await support('killable-procman.ts');
export const { kill } = await support('marked-processes.ts');
export { alive as isAlive } from './common.mjs';
export const BIN = process.env.PROCMAN_BIN ?? path.resolve(ROOT, '../dist/procman.cjs');

export class Procman extends KillableProcman {
  constructor(options) { super({ bin: BIN, ...options }); }
}
