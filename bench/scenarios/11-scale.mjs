// thousands of idle processes: start, memory, CPU at rest and with a dashboard, commands, API, adoption, reload of one, end; and how each grows (procman only)
// goals: at most linear; at 5 000: 1.5 % of a core at rest, status 600 ms, API 50 ms, adoption 10 s
import fs from 'node:fs'; import path from 'node:path';
import { args, bin, calibrate, cpuNs, emit, memory, nowMs, runAsync, NODE, sleep, stats, tmp, until } from '../lib/common.mjs';
import { openDashboard } from '../lib/dashboard.mjs';
import { BIN, Procman, isAlive, kill } from '../lib/killable.mjs';
const o = args({ sizes: '1000,5000,10000', settle: 60, rest: 160, window: 30, calls: 7 });
const LIMIT_MS = 180000;
/** Longer than the service keeps an answer. */
const KEPT_MS = 150;
/** Asking is work, too. */
const stepOf = (n) => Math.max(20, n / 10);
const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { for (const m of running) m.destroy(); process.exit(1); });

const configOf = (n, last) => Array.from({ length: n }, (_, i) => ({ id: `s${i}`, cmd: bin('sleeper'), autostart: true, restart: 'always', ...(i === n - 1 ? { env: { EDITION: String(last) } } : {}) }));
const write = (folder, n, last) => fs.writeFileSync(path.join(folder, 'procman.json'), JSON.stringify({ name: 'load', processes: configOf(n, last) }));
async function timed(f) { const t0 = nowMs(); const value = await f(); return { ms: nowMs() - t0, value }; }

async function measure(n) {
  const folder = tmp(`scale-${n}`); const m = new Procman({ folder, processes: configOf(n, 1) }); running.add(m);
  const records = async () => { const r = await m.api.ask('GET', '/processes'); return r?.status === 200 ? r.body : undefined; };
  const allRun = async () => { const all = await records(); return all?.length === n && all.every((x) => x.status === 'running') ? all : null; };
  const command = (...argv) => runAsync(NODE, [BIN, ...argv], { cwd: folder, env: { ...process.env, BROWSER: '', DISPLAY: '', WAYLAND_DISPLAY: '' } });
  const must = (found, what) => { if (!found) throw new Error(`${n} processes: ${what}; see ${folder}/said.log`); return found; };
  const pids = () => { const { keeper, service, logger } = m.parts(); return { keeper, service, logger }; };
  const result = {};
  try {
    m.start();
    result.startMs = (await timed(async () => must(await until(allRun, LIMIT_MS, stepOf(n)), 'not all run'))).ms;
    await sleep(o.settle * 1000);
    const parts = pids();
    for (const [name, [pid]] of Object.entries(parts)) result[`${name}Mb`] = memory([pid]).privateKiB * 1.024e-3;
    const own = Object.values(parts).flat();
    const cpuPercent = async (seconds) => { const [c0, t0] = [cpuNs(own), nowMs()]; await sleep(seconds * 1000); return (cpuNs(own) - c0) / 1e4 / (nowMs() - t0); };
    // Of very many processes a sample is taken about every 80 s only.
    result.restCpuPercent = await cpuPercent(o.rest);
    const calls = async (f) => { const all = []; for (let i = 0; i < o.calls; i++) { await sleep(KEPT_MS); all.push((await timed(f)).ms); } return stats(all).median; };
    result.statusMs = await calls(() => command('status'));
    result.apiMs = await calls(async () => must(await records(), 'the API does not answer'));
    result.stateMs = await calls(() => m.api.ask('GET', '/state'));
    result.oneMs = await calls(() => m.api.ask('GET', '/processes/s0'));
    const link = /^http\S+$/m.exec((await command('dashboard')).out)?.[0];
    result.dashboardMs = await openDashboard(link, n, async () => { result.dashboardCpuPercent = await cpuPercent(o.window); });
    write(folder, n, 2);
    result.reloadMs = (await timed(async () => must((await command('reload')).code === 0, 'the reload failed'))).ms;
    const before = must(await until(allRun, LIMIT_MS, stepOf(n)), 'not all run after the reload').map((x) => x.pid).join();
    const [keeper] = m.parts().keeper;
    result.adoptMs = (await timed(async () => { kill(keeper); must(await until(async () => { const e = m.api.endpoint; return e && e.keeper !== keeper && isAlive(e.pid) && allRun(); }, LIMIT_MS, stepOf(n)), 'the keeper was not replaced'); })).ms;
    result.adoptAllMs = (await timed(async () => { m.kill('everything'); await until(() => m.parts().keeper.length === 0, LIMIT_MS, 10); m.start(); must(await until(allRun, LIMIT_MS, stepOf(n)), 'not adopted'); })).ms;
    must((await allRun())?.map((x) => x.pid).join() === before, 'some were restarted');
    result.terminateMs = (await timed(() => command('terminate'))).ms;
    result.left = (await m.end()).length;
    return result;
  } finally { m.destroy(); running.delete(m); }
}

// Two descriptors for the output of each process, and some for all else.
const most = Math.floor((Number(/^Max open files +(\d+)/m.exec(fs.readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity) - 100) / 2);
for (const n of String(o.sizes).split(',').map((size) => Math.min(Number(size), most))) {
  const calibMs = calibrate();
  const result = await measure(n);
  emit(`11-scale/${n}`, 'procman', { ...Object.fromEntries(Object.entries(result).filter(([, v]) => v !== undefined).map(([k, v]) => [k, Number(v.toFixed(2))])), calibMs: stats([calibMs]) });
}
