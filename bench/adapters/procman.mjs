// procman itself. Env: PROCMAN_BIN (default ../dist/procman.cjs; a .js/.mjs/.cjs file is run with NODE), PROCMAN_LOGHOURS, PROCMAN_LOGSIZE
import { createHmac } from 'node:crypto'; import fs from 'node:fs'; import path from 'node:path';
import { ROOT, NODE, nowNs, runAsync, start as sp, stopPid, freePorts, childrenOf } from '../lib/common.mjs';
const b = process.env.PROCMAN_BIN ?? path.resolve(ROOT, '../dist/procman.cjs');
const dist = path.dirname(fs.existsSync(b) ? fs.realpathSync(b) : b);
const cmd = /\.[cm]?js$/.test(b) ? [NODE, b] : [b];
const own = ['service.cjs', 'logger.cjs', 'balancer.cjs'].map((f) => path.join(dist, f));
export const features = { logs: true, timestamps: true, status: true };
export const available = () => fs.existsSync(b) || 'npm run build, or set PROCMAN_BIN';
// process.title overwrites the command line, so both its own processes' bundles and their titles count
// As `procman token` makes it: HS256 with the secret of the state folder.
const b64 = (x) => Buffer.from(x).toString('base64url');
function token(dir) {
  const part = `${b64('{"alg":"HS256"}')}.${b64(JSON.stringify({ iss: 'procman', aud: 'bench', sub: 'bench', iat: Math.floor(Date.now() / 1000), scope: 'read' }))}`;
  return `${part}.${createHmac('sha256', fs.readFileSync(path.join(dir, '.procman/bench/secret'))).update(part).digest('base64url')}`;
}
const isOwn = (pid) => { try { const argv = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'); return /^procman(\[.*\])?: /.test(argv[0]) || own.some((f) => argv.includes(f)); } catch { return false; } };
const isBalancer = (pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0].endsWith(': balancer');
export async function start(spec) {
  const [port] = await freePorts(1);
  const f = path.join(spec.dir, 'procman.json');
  const processes = spec.raw ?? spec.procs.map((p) => ({ id: p.id, cmd: p.argv.join(' '), cwd: spec.dir, autostart: true, ...(spec.restart ? { restart: 'always', restartDelayMs: 0 } : {}), logger: { console: false, ...(p.log ? { stdout: p.log.file, decorateFiles: p.log.ts } : {}) } }));
  fs.writeFileSync(f, JSON.stringify({ name: 'bench', api: { hostname: '127.0.0.1', port }, logger: { console: false, internalLogHours: Number(process.env.PROCMAN_LOGHOURS ?? 0), ...(process.env.PROCMAN_LOGSIZE ? { internalLogSize: process.env.PROCMAN_LOGSIZE } : {}) }, processes }));
  const t0Ns = nowNs();
  const c = sp(cmd[0], [...cmd.slice(1), 'run', '--config', f], { cwd: spec.dir });
  return {
    t0Ns, api: { port },
    managerPids: () => [c.pid, ...childrenOf(c.pid).filter(isOwn).flatMap((pid) => [pid, ...childrenOf(pid)])], // the keeper is the child itself; the balancer has a second process
    balancerPids: () => childrenOf(c.pid).filter(isOwn).flatMap((pid) => [pid, ...childrenOf(pid)]).filter(isBalancer),
    status: () => ({ argv: [...cmd, 'status', '--config', f] }),
    lines: async (id) => Number((await runAsync('sh', ['-c', `${cmd.join(' ')} logs ${id} --config ${f} --category stdout --since 1h --raw | wc -l`])).out),
    request: () => ({ host: '127.0.0.1', port, path: '/processes', headers: { Authorization: `Bearer ${token(spec.dir)}` } }),
    stop: () => stopPid(c.pid, 'SIGTERM', 15000),
  };
}
