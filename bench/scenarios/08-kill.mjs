// procman's own parts killed: how long until it decides, answers and has adopted everybody; how long a child that prints has to wait.
// goals: decide 400 ms, API 500 ms (100 processes); adopted 800 ms (100), 2 s (1 000); stall 0 (service), 300 ms (logger); adoption polling 1 % of a core (200)
import fs from 'node:fs'; import path from 'node:path';
import { Notify, args, bin, calibrate, cpuNs, emit, freePorts, NODE, nowMs, nowNs, sleep, stats, tmp, until } from '../lib/common.mjs';
import { Procman, isAlive, kill } from '../lib/killable.mjs';
const o = args({ kills: 10, small: 100, large: 1000, polled: 200, window: 15, only: '' });
const wants = (name) => !o.only || o.only.split(',').includes(name);
/** A part that lives longer begins its back-off anew. */
const REST_MS = 2500;
const nt = await Notify.open();
const managers = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { for (const m of managers) m.destroy(); process.exit(1); });

async function withProcman(processes, measure) {
  const m = new Procman({ folder: tmp('procman'), processes });
  managers.add(m); m.start();
  try { return await measure(m); } finally { await m.end(); m.destroy(); managers.delete(m); }
}
const sleepers = (n) => Array.from({ length: n }, (_, i) => ({ id: `s${i}`, cmd: bin('sleeper'), autostart: true, restart: 'always', restartDelayMs: 0 }));
const allRun = async (m, n) => { const r = await m.api.ask('GET', '/processes'); return r?.status === 200 && r.body.filter((x) => x.status === 'running').length === n ? r.body : null; };
const report = (name, metrics) => emit(`08-kill/${name}`, 'procman', { ...Object.fromEntries(Object.entries(metrics).map(([k, v]) => [k, Array.isArray(v) ? stats(v) : v])), calibMs: stats([calibrate()]) });

// the service, and a child in the same moment: its successor shows that somebody decides again
if (wants('service')) await withProcman([...sleepers(o.small - 1), { id: 'web', cmd: `${bin('httpd')} ${(await freePorts(1))[0]} ${nt.port} web`, autostart: true, restart: 'always', restartDelayMs: 0 }], async (m) => {
  let child = (await nt.wait((ev) => ev.find((e) => e.tag === 'web'), 30000)).pid;
  await until(() => allRun(m, o.small), 30000, 20);
  const decideMs = []; const apiMs = [];
  for (let k = 0; k < o.kills; k++) {
    await sleep(REST_MS + Math.random() * 200); nt.clear();
    const [service] = m.parts().service;
    const t0 = nowNs(); kill(service); kill(child);
    const api = until(async () => { const e = m.api.endpoint; return e && e.pid !== service && isAlive(e.pid) && (await m.api.ask('GET', '/state'))?.status === 200; }, 20000, 2).then(() => Number(nowNs() - t0) / 1e6);
    const e = await nt.wait((ev) => ev.find((x) => x.tag === 'web'), 20000);
    decideMs.push(e ? Number(e.monoNs - t0) / 1e6 : 20000); child = e?.pid ?? 0;
    apiMs.push(await api);
  }
  report(`service-${o.small}`, { decideMs, apiMs });
});

// the keeper: adopted is who the API of the next one shows as running
for (const n of [o.small, o.large]) if (wants('keeper')) await withProcman(sleepers(n), async (m) => {
  await until(() => allRun(m, n), 120000, 50);
  const adoptMs = []; let same = 0;
  for (let k = 0; k < (n === o.large ? Math.ceil(o.kills / 2) : o.kills); k++) {
    await sleep(REST_MS + Math.random() * 200);
    const before = new Map((await allRun(m, n)).map((x) => [x.id, x.pid])); const [keeper] = m.parts().keeper;
    const t0 = nowMs(); kill(keeper);
    const now = await until(async () => { const e = m.api.endpoint; return e && e.keeper !== keeper && isAlive(e.pid) && allRun(m, n); }, 30000, 2);
    adoptMs.push(now ? nowMs() - t0 : 30000); same += (now ?? []).filter((x) => before.get(x.id) === x.pid).length;
  }
  report(`keeper-${n}`, { adoptMs, samePids: same / adoptMs.length });
});

// a child that prints flat out: its longest write in each tenth of a second
if (wants('stall')) {
  const folder = tmp('stall'); const file = path.join(folder, 'stalls'); const script = path.join(folder, 'flat-out.mjs');
  fs.writeFileSync(script, `import { appendFileSync, writeSync } from 'node:fs';
const batch = Buffer.from(('x'.repeat(99) + '\\n').repeat(300)); const now = () => Number(process.hrtime.bigint()) / 1e6;
for (let since = now(), longest = 0; ;) { const t = now(); for (let at = 0; at < batch.length;) at += writeSync(1, batch, at); const end = now(); longest = Math.max(longest, end - t);
  if (end - since > 100) { appendFileSync(${JSON.stringify(file)}, end + ' ' + longest + '\\n'); since = end; longest = 0; } }`);
  await withProcman([{ id: 'flat-out', cmd: `${NODE} ${script}`, autostart: true, logger: { stdout: path.join(folder, 'log'), rotate: { size: '200MB', total: '400MB', gzip: false } } }], async (m) => {
    await until(() => fs.existsSync(file), 30000, 20); await m.answered();
    const spans = { noneMs: () => {}, serviceMs: () => m.kill('service'), loggerMs: () => m.kill('logger'), keeperMs: () => m.kill('keeper') }; const found = {};
    for (const [name, act] of Object.entries(spans)) {
      found[name] = [];
      for (let k = 0; k < o.kills; k++) { await sleep(REST_MS); found[name].push(nowMs()); act(); await sleep(1500); }
    }
    const stalls = fs.readFileSync(file, 'utf8').trim().split('\n').map((l) => l.split(' ').map(Number));
    report('stall', Object.fromEntries(Object.entries(found).map(([name, times]) => [name, times.map((t) => Math.max(...stalls.filter(([end, longest]) => end >= t && end - longest <= t + 1500).map(([, longest]) => longest)))])));
  });
  fs.rmSync(folder, { recursive: true, force: true });
}

// what it costs to look whether adopted processes still live, beside the same processes as children
if (wants('polling')) await withProcman(sleepers(o.polled), async (m) => {
  await until(() => allRun(m, o.polled), 60000, 50);
  const cost = async () => { await sleep(6000); const [keeper] = m.parts().keeper; const c = cpuNs([keeper]); const t = nowMs(); await sleep(o.window * 1000); return (cpuNs([keeper]) - c) / 1e6 / (nowMs() - t) * 100; };
  const childrenPercent = await cost();
  const [keeper] = m.parts().keeper; kill(keeper);
  await until(async () => m.api.endpoint?.keeper !== keeper && allRun(m, o.polled), 30000, 20);
  report(`polling-${o.polled}`, { childrenPercent: [childrenPercent], adoptedPercent: [await cost()] });
});
nt.close();
