// kill -9 of procman's service with 100 processes -> a child killed at the same moment is back (it decides), the API answers
import { createHmac } from 'node:crypto'; import fs from 'node:fs'; import http from 'node:http'; import path from 'node:path';
import { Notify, adapters, args, bin, calibrate, comm, emit, nowMs, nowNs, sleep, stats, tmp, until } from '../lib/common.mjs';
const o = args({ processes: 100, kills: 10 });
const [m] = await adapters('procman');
if (!m) process.exit(1);
const nt = await Notify.open();
const dir = tmp('killed');
const h = await m.start({ dir, restart: true, procs: Array.from({ length: o.processes }, (_, i) => ({ id: `s${i}`, argv: [bin('sleeper'), String(nt.port), `s${i}`] })) });
await nt.count('ready', o.processes, 60000);
const state = path.join(dir, '.procman/bench');
await until(() => fs.existsSync(path.join(state, 'endpoint.json')));
const b64 = (x) => Buffer.from(x).toString('base64url');
const part = `${b64('{"alg":"HS256"}')}.${b64(JSON.stringify({ iss: 'procman', aud: 'bench', sub: 'bench', iat: Math.floor(Date.now() / 1000), scope: 'read' }))}`;
const authorization = `Bearer ${part}.${createHmac('sha256', fs.readFileSync(path.join(state, 'secret'))).update(part).digest('base64url')}`;
const ask = () => new Promise((done) => {
  const { port } = h.api;
  const asked = http.get({ host: '127.0.0.1', port, path: '/processes', headers: { authorization }, agent: false }, (r) => { r.resume(); r.on('end', () => done(r.statusCode === 200)); });
  asked.on('error', () => done(false));
});
const decides = []; const answers = []; let misses = 0;
await sleep(12000); // a service that lived for 10 s is started again without delay
for (let k = 0; k < o.kills; k++) {
  const service = h.managerPids().find((pid) => comm(pid).startsWith('procman: servic'));
  const tag = `s${k}`; const victim = nt.events.findLast((e) => e.tag === tag).pid;
  const t0 = nowNs(); const t = nowMs();
  process.kill(service, 'SIGKILL'); process.kill(victim, 'SIGKILL');
  const back = nt.wait((ev) => ev.find((e) => e.tag === tag && e.pid !== victim && e.monoNs > t0), 20000);
  if (!(await until(ask, 20000, 4))) misses++;
  answers.push(nowMs() - t);
  const e = await back;
  if (e) decides.push(Number(e.monoNs - t0) / 1e6); else misses++;
  await sleep(11000);
}
const lost = [...new Set(nt.events.map((e) => e.tag))].length - o.processes;
await h.stop();
emit('08-service-killed', 'procman', { decidesMs: stats(decides), answersMs: stats(answers), misses, lost, starts: nt.events.length, calibMs: calibrate() });
nt.close();
