// procman's watcher: 20 000 files in 1 000 folders, watched from a reload on (procman only)
import fs from 'node:fs'; import path from 'node:path';
import { Notify, adapters, args, bin, calibrate, comm, cpuNs, emit, memory, nowMs, nowNs, sleep, stats, tmp, until } from '../lib/common.mjs';
const o = args({ runs: 5, folders: 1000, files: 20, changes: 5, interval: 100, settle: 3, window: 10 });
const [m] = await adapters('procman');
if (!m) process.exit(1);
const nt = await Notify.open();
const root = path.join(tmp('watched'), 'src');
for (let d = 0; d < o.folders; d++) {
  const folder = path.join(root, `part${d % 10}`, `module${d}`);
  fs.mkdirSync(folder, { recursive: true });
  for (let f = 0; f < o.files; f++) fs.writeFileSync(path.join(folder, `component-${f}.ts`), 'export {};\n');
}
const watches = (pid, fd) => { try { return fs.readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8').split('inotify wd:').length - 1; } catch { return 0; } };
const inotify = (pid) => fs.readdirSync(`/proc/${pid}/fd`).filter((fd) => { try { return fs.readlinkSync(`/proc/${pid}/fd/${fd}`).includes('inotify'); } catch { return false; } });
const rows = []; const calib = [];
for (let k = 0; k < o.runs; k++) {
  calib.push(calibrate()); nt.clear();
  const dir = tmp(`watch${k}`);
  const raw = [{ id: 'web', cmd: `${bin('sleeper')} ${nt.port} web`, cwd: dir, autostart: true }];
  const h = await m.start({ dir, raw });
  await nt.count('ready', 1, 30000);
  await sleep(o.settle * 1000);
  const keeper = h.managerPids()[0];
  const service = h.managerPids().find((pid) => comm(pid).startsWith('procman: servic'));
  const file = path.join(dir, 'procman.json');
  const before = memory([service]).pssKiB; const cpu0 = cpuNs([service]);
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), processes: [{ ...raw[0], watch: [root] }], watcher: { interval: o.interval } }));
  const t = nowMs();
  process.kill(keeper, 'SIGHUP');
  // Its folders, those that only hold folders, and the one above all.
  const ready = await until(() => inotify(service).some((fd) => watches(service, fd) >= o.folders + Math.min(o.folders, 10) + 1), 30000, 2);
  const readyMs = nowMs() - t; const readyCpuMs = (cpuNs([service]) - cpu0) / 1e6;
  const journal = path.join(dir, '.procman/bench/run/journal');
  const known = await until(() => fs.readFileSync(journal, 'utf8').includes(':watched'), 30000, 2);
  const knownMs = nowMs() - t; const knownCpuMs = (cpuNs([service]) - cpu0) / 1e6;
  await sleep(o.settle * 1000);
  const row = { readyMs, readyCpuMs, knownMs, knownCpuMs, pssMB: (memory([service]).pssKiB - before) / 1024 };
  const late = [];
  for (let c = 0; c < o.changes; c++) {
    const t0 = nowNs();
    fs.writeFileSync(path.join(root, `part${c}`, `module${c}`, 'component-0.ts'), `export const run = "${k}.${c}";\n`);
    const event = await nt.wait((ev) => ev.find((e) => e.kind === 'ready' && e.monoNs > t0), 20000);
    if (event) late.push(Number(event.monoNs - t0) / 1e6 - o.interval); else row.failed = 1;
    await sleep(6000); // a change soon after a start is taken for the start's own doing
  }
  row.lateMs = late.length ? Math.max(...late) : 0;
  row.afterMB = (memory([service]).pssKiB - before) / 1024;
  const c0 = cpuNs([service]); const w0 = nowMs();
  await sleep(o.window * 1000);
  row.restCpuPercent = ((cpuNs([service]) - c0) / 1e6 / (nowMs() - w0)) * 100;
  if (!ready || !known) row.failed = 1;
  process.stderr.write(`${JSON.stringify(row)}\n`);
  rows.push(row);
  await h.stop(); nt.killAll();
}
emit('10-watch', 'procman', Object.fromEntries(Object.keys(rows[0]).map((key) => [key, stats(rows.map((r) => r[key] ?? 0))])), { calibMs: stats(calib) });
nt.close();
