// systemd, in the machine of bench/lib/in-systemd.ts: it runs already and has read its units, as after a boot; timed is `systemctl start` of all.
import fs from 'node:fs'; import path from 'node:path';
import { nowNs, run, runAsync, start as sp, childrenOf, comm } from '../lib/common.mjs';
export const features = { logs: true, timestamps: false, status: true };
export const available = () => comm(1) === 'systemd' && fs.existsSync('/run/systemd/private') ? true : 'run it by bench/lib/in-systemd.ts';
const UNITS = '/run/systemd/system';
const must = (...argv) => { const r = run('systemctl', argv); if (r.code !== 0) throw new Error(`systemctl ${argv.join(' ')}: ${r.err}`); };
/** By default the journal drops what a unit prints beyond 10 000 lines in 30 s (more where the disk has much room); a unit can't lift that. */
function keepAllLines() {
  fs.mkdirSync('/run/systemd/journald.conf.d', { recursive: true });
  fs.writeFileSync('/run/systemd/journald.conf.d/bench.conf', '[Journal]\nRateLimitIntervalSec=0\n');
  must('restart', 'systemd-journald');
}
export async function start(spec) {
  const names = spec.procs.map((p) => `bench-${p.id}.service`);
  const files = [...names, 'bench.target'].map((name) => path.join(UNITS, name));
  const restart = spec.restart ? 'Restart=always\nRestartSec=0\n' : '';
  for (const [i, p] of spec.procs.entries()) {
    // What is printed goes into the journal, as in a unit that says nothing.
    const output = spec.journal ? '' : 'StandardOutput=null\nStandardError=null\n';
    fs.writeFileSync(files[i], `[Unit]\nStartLimitIntervalSec=0\nDefaultDependencies=no\n[Service]\nWorkingDirectory=${spec.dir}\nExecStart=${p.argv.join(' ')}\n${restart}${output}KillSignal=SIGKILL\n`);
  }
  fs.writeFileSync(files.at(-1), `[Unit]\nDefaultDependencies=no\nWants=${names.join(' ')}\n`);
  must('daemon-reload');
  if (spec.journal) keepAllLines();
  const journald = childrenOf(1).filter((pid) => comm(pid) === 'systemd-journal');
  const t0Ns = nowNs();
  const c = sp('systemctl', ['start', 'bench.target']);
  const commandMs = new Promise((r) => c.on('close', () => r(Number(nowNs() - t0Ns) / 1e6)));
  return {
    t0Ns, commandMs, managerPids: () => [1, ...journald],
    status: () => ({ argv: ['systemctl', 'list-units', '--no-pager', '--plain', 'bench-*'] }),
    lines: async (id) => Number((await runAsync('sh', ['-c', `journalctl --sync && journalctl --quiet --output=cat --unit=bench-${id} | wc -l`])).out),
    async stop() {
      await commandMs;
      must('stop', 'bench.target', 'bench-*.service');
      for (const file of files) fs.rmSync(file);
      must('daemon-reload'); run('systemctl', ['reset-failed', 'bench-*']);
    },
  };
}
