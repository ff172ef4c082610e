// How busy the machine is with other work.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Percent of the processors' time that went to other work, or to another machine on the same host, within so many milliseconds. */
export async function busyPercent(ms = 300) {
  const ticks = () => readFileSync('/proc/stat', 'latin1').split('\n', 1)[0].trim().split(/\s+/).slice(1, 9).map(Number);
  const before = ticks(); await sleep(ms);
  const spent = ticks().map((value, i) => value - before[i]);
  const all = spent.reduce((sum, value) => sum + value, 0);
  return all === 0 ? 0 : (100 * (all - spent[3] - spent[4])) / all; // idle and iowait
}
