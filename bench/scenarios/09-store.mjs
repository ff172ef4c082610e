// log store, procman only. write: 3 M lines of 100 bytes into the store alone, and with a log file beside it; read: queries over 10 M lines
import { createHmac } from 'node:crypto'; import fs from 'node:fs'; import http from 'node:http'; import path from 'node:path';
import { NODE, Notify, ROOT, adapters, args, bin, calibrate, cpuTicks, emit, memory, nowMs, run, sleep, stats, tmp, until } from '../lib/common.mjs';
const o = args({ runs: 3, lines: 3000000, querylines: 10000000, limit: 90, only: 'write,read' });
process.env.PROCMAN_LOGHOURS = '24'; process.env.PROCMAN_LOGSIZE ??= '4GB';
const [m] = await adapters('procman');
if (!m) process.exit(1);
const b64 = (x) => Buffer.from(x).toString('base64url');
const columns = (rows) => Object.fromEntries(Object.keys(rows[0]).map((k) => [k, stats(rows.map((r) => r[k]))]));
async function write(nt, withFile) {
  nt.clear();
  const dir = tmp('store'); const file = path.join(dir, 'l.log'); const state = path.join(dir, '.procman/bench'); const logs = path.join(state, 'logs');
  const go = path.join(dir, 'go'); // the flood begins when the API answers
  const h = await m.start({ dir, raw: [{ id: 'w0', cmd: `sh -c 'while [ ! -e ${go} ]; do sleep 0.02; done; exec ${bin('spew')} ${o.lines} ${nt.port} w0'`, autostart: true, logger: { console: false, ...(withFile ? { stdout: file } : {}) } }] });
  await until(() => fs.existsSync(path.join(state, 'endpoint.json')), 20000);
  const part = `${b64('{"alg":"HS256"}')}.${b64(JSON.stringify({ iss: 'procman', aud: 'bench', sub: 'bench', iat: Math.floor(Date.now() / 1000), scope: 'read' }))}`;
  const authorization = `Bearer ${part}.${createHmac('sha256', fs.readFileSync(path.join(state, 'secret'))).update(part).digest('base64url')}`;
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ask = () => new Promise((done) => {
    const t = nowMs();
    http.get({ host: '127.0.0.1', port: h.api.port, path: '/processes', headers: { authorization }, agent }, (r) => { r.resume(); r.on('end', () => done(nowMs() - t)); }).on('error', () => done(0));
  });
  for (let i = 0; i < 50; i++) await ask();
  fs.writeFileSync(go, '');
  const [begin] = await nt.count('begin', 1, 60000);
  const answers = []; let over = false;
  const ended = nt.count('end', 1, o.limit * 1000).then((e) => { over = true; return e; });
  while (!over) { answers.push(await ask()); await sleep(5); }
  await ended;
  const segments = () => fs.readdirSync(logs).filter((f) => !f.endsWith('.index')).map((f) => path.join(logs, f));
  const written = () => { let t = 0; for (const f of segments()) try { t = Math.max(t, fs.statSync(f).mtimeMs); } catch { /* renamed */ } return t; };
  for (let last = 0; last !== written();) { last = written(); await sleep(500); }
  const ms = Math.max(written(), withFile ? fs.statSync(file).mtimeMs : 0) - Number(begin.realNs) / 1e6;
  const mem = memory(h.managerPids()); const cpu = cpuTicks(h.managerPids());
  await h.stop(); nt.killAll(); agent.destroy();
  fs.rmSync(dir, { recursive: true, force: true });
  answers.sort((a, b) => a - b);
  return { drainMs: ms, mbPerSec: (o.lines * 100) / 1e6 / (ms / 1000), answerP99Ms: answers[Math.floor(answers.length * 0.99)] ?? 0, answerMaxMs: answers.at(-1) ?? 0, peakKiB: mem.peakKiB, cpuS: cpu.ownS, calibMs: calibrate() };
}
if (o.only.split(',').includes('write')) {
  const nt = await Notify.open();
  const rows = { 'write-store': [], 'write-store-and-file': [] };
  for (let i = 0; i < o.runs; i++) for (const key of Object.keys(rows)) {
    rows[key].push(await write(nt, key.endsWith('file')));
    console.error(`  09-store/${key} #${i} ${JSON.stringify(rows[key].at(-1))}`);
  }
  for (const [key, r] of Object.entries(rows)) emit(`09-store/${key}`, 'procman', columns(r));
  nt.close();
}
if (o.only.split(',').includes('read')) {
  const dir = tmp('read');
  const { out } = run(NODE, ['--import', 'tsx', path.join(ROOT, 'lib/store-read.ts'), dir, String(o.querylines)], { cwd: path.resolve(ROOT, '..'), timeout: 600000 });
  emit('09-store/read', 'procman', columns(out.trim().split('\n').map((line) => JSON.parse(line))));
  fs.rmSync(dir, { recursive: true, force: true });
}
