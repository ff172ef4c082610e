// one child prints into what the manager can be asked for later (procman's log store, systemd's journal): MB/s until it has printed all, lines that are found
import { Notify, adapters, args, bin, interleave, sleep, tmp } from '../lib/common.mjs';
process.env.PROCMAN_LOGHOURS = '24'; process.env.PROCMAN_LOGSIZE = '2GB';
const o = args({ managers: 'procman,systemd', runs: 5, lines: 500000, limit: 120 });
const ms = await adapters(o.managers);
const nt = await Notify.open();
await interleave('12-journal', ms, o.runs, async (m) => {
  nt.clear();
  const h = await m.start({ dir: tmp(m.name), restart: false, journal: true, procs: [{ id: 'w', argv: [bin('spew'), String(o.lines), String(nt.port), 'w'] }] });
  const [begin] = (await nt.count('begin', 1, 60000)) ?? [];
  const [end] = (await nt.count('end', 1, o.limit * 1000)) ?? [];
  await h.commandMs; await sleep(1000);
  // Messages of the manager itself about the process may be among them.
  const lines = await h.lines('w', o.lines);
  await h.stop(); nt.killAll();
  if (!begin || !end) return { failed: 1 };
  return { mbPerSec: (o.lines * 100) / 1e6 / (Number(end.monoNs - begin.monoNs) / 1e9), lost: Math.max(0, o.lines - lines) };
});
nt.close();
