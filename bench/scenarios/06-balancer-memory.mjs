// Memory (PSS) of the balancer's processes with open connections that have each carried a request
import net from 'node:net';
import { Notify, args, bin, emit, freePorts, memory, sleep, start, stopPid, tmp } from '../lib/common.mjs';
import { targets } from '../balancers/targets.mjs';
const o = args({ targets: 'haproxy,balancer', conns: '1000,5000' });
const nt = await Notify.open();
for (const name of o.targets.split(',')) {
  const be = await freePorts(2); const [port] = await freePorts(1); nt.clear();
  const kids = be.map((p, i) => start(bin('httpd'), [String(p), String(nt.port), `b${i}`]));
  await nt.count('ready', 2, 10000);
  const h = await targets[name].start({ port, be, dir: tmp(name), nport: nt.port });
  await sleep(1500);
  const socks = []; const res = { 0: memory(h.lbPids()).pssKiB };
  for (const n of String(o.conns).split(',').map(Number)) {
    while (socks.length < n) await Promise.all(Array.from({ length: Math.min(200, n - socks.length) }, () => new Promise((ok, no) => {
      const s = net.connect(port, '127.0.0.1', () => s.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')); socks.push(s); s.once('data', ok); s.once('error', no); s.once('close', () => no(new Error('closed')));
    })));
    await sleep(1500); res[n] = memory(h.lbPids()).pssKiB;
  }
  const ns = Object.keys(res).map(Number); const [a, b] = ns.slice(-2);
  emit('06-balancer-memory', name === 'balancer' ? 'procman' : name, { ...Object.fromEntries(ns.map((n) => [`mib${n}`, Number((res[n] / 1024).toFixed(1))])), kibPerFurther: Number(((res[b] - res[a]) / (b - a)).toFixed(2)) });
  for (const s of socks) s.removeAllListeners('close').on('error', () => {}).destroy();
  for (const pid of h.stop) await stopPid(pid, 'SIGTERM', 8000);
  for (const k of kids) await stopPid(k.pid, 'SIGKILL', 1000);
}
nt.close();
