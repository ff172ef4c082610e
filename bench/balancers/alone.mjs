// procman's balancer without the rest of procman: alone.mjs PORT BACKEND-PORT... So it runs in the session of the rig, as the others do:
// on a busy machine Linux gives each session the same share of time (autogroup), and that would be measured instead.
import { spawn } from 'node:child_process'; import net from 'node:net'; import path from 'node:path'; import { tmpdir } from 'node:os';
const [port, ...be] = process.argv.slice(2).map(Number);
const bin = process.env.PROCMAN_BIN ?? path.resolve(path.dirname(new URL(import.meta.url).pathname), '../../dist/procman.cjs');
const socket = path.join(tmpdir(), `procman-bench-${process.pid}.sock`);
const c = spawn(process.execPath, [path.join(path.dirname(bin), 'balancer.cjs'), `--socket=${socket}`], { stdio: 'inherit' });
const fronts = [{ id: 'web', hostname: '127.0.0.1', port, strategy: process.env.PROCMAN_STRATEGY ?? 'round-robin', proxyProtocol: false, idleMs: 0, backends: be.map((p, i) => ({ id: `web-${i + 1}`, port: p, state: 'up' })) }];
const tell = () => { const s = net.connect(socket); s.on('error', () => setTimeout(tell, 20)); s.on('connect', () => s.write(`${JSON.stringify({ t: 'fronts', serial: 1, fronts })}\n`)); s.resume(); };
tell();
process.on('SIGTERM', () => { c.kill('SIGTERM'); c.once('exit', () => process.exit(0)); });
