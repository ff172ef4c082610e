// docs/design/benchmarks.md and its pictures, made of bench/results.json.
import { ALONE, CLAIMS, SCALE, TABLES } from './plan.mjs';

const NAMES = { supervisor: 'supervisord', haproxy: 'HAProxy' };

/** Of the processors, before a run, when nothing of the bench runs. */
export const MAX_BUSY_PERCENT = 10;
/** A fixed piece of work takes so many times its least time when the processors are shared. */
const MAX_SLOWDOWN = 1.5;
const scriptOf = (scenario) => scenario.split('/')[0];

/** @returns {string[]} the scripts of which at least half of the runs began while the machine had other work */
export function unfit({ scenarios }) {
  const runs = Object.entries(scenarios).flatMap(([scenario, managers]) => Object.values(managers).map((metrics) => ({ script: scriptOf(scenario), ...metrics })));
  const least = Math.min(...runs.flatMap(({ calibMs }) => calibMs?.min ?? []));
  const isBusy = ({ busyPercent, calibMs }) => (busyPercent?.median ?? 0) > MAX_BUSY_PERCENT || (calibMs?.median ?? 0) > MAX_SLOWDOWN * least;
  return [...new Set(runs.filter(isBusy).map(({ script }) => script))].sort();
}
const nameOf = (manager) => NAMES[manager] ?? manager;

/** Three significant digits, thousands apart. */
function figure(value) {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const rounded = Number(value.toPrecision(value >= 1000 ? 4 : 3));
  return rounded.toFixed(Math.min(digits, 2)).replace(/\B(?=(\d{3})+(?!\d))/g, ' ').replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

function valueOf(results, { from, metric, scale = 1 }, manager) {
  const found = results.scenarios[from]?.[manager]?.[metric];
  if (found === undefined || found === null) return undefined;
  const { median, min, max, n } = typeof found === 'object' ? found : { median: found, min: found, max: found, n: 1 };
  return { median: median * scale, min: min * scale, max: max * scale, n };
}

function cell(value) {
  if (value === undefined) return '';
  const spread = value.n > 1 && value.min !== value.max ? ` (${figure(value.min)}–${figure(value.max)})` : '';
  return `${figure(value.median)}${spread}`;
}

/** How many times as fast, small or many as the other. */
function ratio({ isLow }, own, other) {
  if (own === undefined || other === undefined || own.median === 0 || other.median === 0) return '';
  const times = isLow ? other.median / own.median : own.median / other.median;
  return `${times.toFixed(times < 10 ? 2 : 0)} ×`;
}

const script = ({ from }, busy) => `\`${scriptOf(from).replace('box-', '')}\`${busy.includes(scriptOf(from)) ? ' (busy machine)' : ''}`;

/** A sentence for each row in which a peer is better by more than a tenth: it and the figures of all that are. */
function behind(results) {
  const lines = TABLES.flatMap(({ managers: [own, ...others], rows, title }) => rows.flatMap((row) => {
    const mine = valueOf(results, row, own);
    const ahead = others.flatMap((manager) => { const value = valueOf(results, row, manager); return value !== undefined && mine !== undefined && (row.isLow ? value.median * 1.1 < mine.median : value.median > mine.median * 1.1) ? [{ manager, value }] : []; });
    if (ahead.length === 0) return [];
    ahead.sort((a, b) => (row.isLow ? 1 : -1) * (a.value.median - b.value.median));
    return [`- ${row.text}${title === 'Process managers' ? '' : ` (${title.toLowerCase()})`}: ${own} ${figure(mine.median)} ${row.unit}; ${ahead.map(({ manager, value }) => `${nameOf(manager)} ${figure(value.median)}`).join(', ')}`];
  }));
  return lines.join('\n');
}

/** Without the rows of scenarios that weren't run. */
function tableOf(results, { title, text, managers, rows: all }) {
  const [own, ...others] = managers;
  const rows = all.filter((row) => valueOf(results, row, own) !== undefined);
  if (rows.length === 0) return [];
  const present = others.filter((manager) => rows.some((row) => valueOf(results, row, manager) !== undefined));
  const busy = unfit(results);
  const head = ['', own, ...present, ...(present.length > 0 ? [`${own} beside ${nameOf(present[0])}`] : []), 'script'];
  const lines = rows.map((row) => {
    const values = [own, ...present].map((manager) => valueOf(results, row, manager));
    const last = present.length > 0 ? [ratio(row, values[0], values[1])] : [];
    return `| ${row.text}, ${row.unit} | ${[...values.map(cell), ...last].join(' | ')} | ${script(row, busy)} |`;
  });
  return [`## ${title}`, ...(text === undefined ? [] : [text]), `| ${head.map(nameOf).join(' | ')} |\n|---|${head.slice(2).map(() => '---:|').join('')}---|\n${lines.join('\n')}`];
}

/** Of the least squares line through the logarithms: 1 is linear. */
function exponentOf(points) {
  if (points.length < 2) return '';
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [xs, ys] = [0, 1].map((at) => points.map((point) => Math.log(Math.max(point[at], 1e-9))));
  const [mx, my] = [mean(xs), mean(ys)];
  return (mean(xs.map((x, i) => (x - mx) * (ys[i] - my))) / mean(xs.map((x) => (x - mx) ** 2))).toFixed(2).replace('-0.00', '0.00');
}

function scaleTable(results) {
  const sizes = Object.keys(results.scenarios).flatMap((key) => /^11-scale\/(\d+)$/.exec(key)?.[1] ?? []).sort((a, b) => a - b);
  const isMeasured = ([metric]) => sizes.every((size) => results.scenarios[`11-scale/${size}`].procman[metric] !== undefined);
  const rows = SCALE.filter(isMeasured).map(([metric, text, unit, scale]) => {
    const values = sizes.map((size) => results.scenarios[`11-scale/${size}`].procman[metric] * scale);
    return `| ${text}, ${unit} | ${values.map(figure).join(' | ')} | ${exponentOf(sizes.map((size, i) => [size, values[i]]))} |`;
  });
  return `| idle processes | ${sizes.map((size) => figure(Number(size))).join(' | ')} | exponent |\n|---|${'---:|'.repeat(sizes.length + 1)}\n${rows.join('\n')}`;
}

/** "2026-11-25 at commit 65c9a0e (05-logs, 07-status)": the scenarios are named if they were not measured at once. */
function occasions({ measured }) {
  const all = new Map();
  for (const [scenario, { date, commit }] of Object.entries(measured)) {
    const when = `${date} at commit ${commit}`;
    all.set(when, [...(all.get(when) ?? []), scenario]);
  }
  return [...all].map(([when, scenarios]) => (all.size === 1 ? when : `${when} (${scenarios.join(', ')})`)).join('; ');
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('`', '');

/** Bars of the medians, for light and dark pages. */
function chartOf(results) {
  const groups = TABLES.flatMap(({ managers, rows }) => rows.filter((row) => row.chart && valueOf(results, row, 'procman') !== undefined).map((row) => ({ row, managers })));
  const busy = unfit(results);
  const [width, left, bar, gap] = [760, 130, 14, 34];
  let y = 10;
  const parts = groups.flatMap(({ row, managers }) => {
    const values = managers.flatMap((manager) => { const value = valueOf(results, row, manager); return value === undefined ? [] : [[manager, value.median]]; });
    const most = Math.max(...values.map(([, value]) => value));
    y += 20;
    const lines = [`<text x="0" y="${y - 6}" class="title">${escaped(row.text)}${busy.includes(scriptOf(row.from)) ? ', on a busy machine' : ''} (${row.unit}; ${row.isLow ? 'less' : 'more'} is better)</text>`];
    for (const [manager, value] of values) {
      const length = Math.max(2, (value / most) * (width - left - 110));
      lines.push(`<text x="0" y="${y + bar - 3}">${nameOf(manager)}</text><rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="${bar}" class="${manager === 'procman' ? 'own' : 'other'}"/><text x="${(left + length + 6).toFixed(1)}" y="${y + bar - 3}">${figure(value)}</text>`);
      y += bar + 4;
    }
    y += gap - 20;
    return lines;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" role="img" aria-label="procman beside other process managers">
<style>text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.own{fill:#2f6fde}.other{fill:#9aa4b2}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.own{fill:#6ea0ff}.other{fill:#5b6472}}</style>
${parts.join('\n')}
</svg>
`;
}

function page(results) {
  const { machine } = results;
  const versions = Object.entries(machine.versions).map(([name, version]) => `${nameOf(name)} ${version}`).join(', ');
  const busy = unfit(results);
  const warning = busy.length === 0 ? '' : `> **Not fit for publication**: other work ran on the machine during ${busy.join(', ')}. Run \`npm run bench -- --only ${busy[0].replace('box-', '')}\` on a quiet machine.\n\n`;
  const alone = ALONE.map(({ title, rows }) => tableOf(results, { title, managers: ['procman'], rows }));
  return `# Benchmarks

<!-- not run: it takes an hour, and needs a checkout -->

    npm run bench              # an hour, on a machine that does nothing else; --quick: a look in ten minutes
    npm run bench -- --report  # this page, from bench/results.json

<!-- made by bench/report.mjs -->

${warning}## Where procman is behind

Rows below in which another program is better by more than a tenth:

${behind(results)}

## How it was measured

Measured ${occasions(results)}, on ${machine.cpus} processors (${machine.model}), ${machine.memory} of memory, Linux ${machine.kernel}, Node ${machine.node}; ${versions}. A fixed piece of work took ${cell(machine.calibration)} ms during the runs: where the spread is wide, the machine had other work, and ratios say more than figures.

Each row has the median, and in brackets the least and the most of all runs. The managers take turns. *beside*: how many times as good, so above 1 procman is ahead. The script of each row stands in \`bench/scenarios\` of a clone.

- Each manager runs one configuration with the same programs, and is asked by its own command (\`procman status\`, \`pm2 jlist\`, \`supervisorctl status\`, \`sv status\`, \`s6-svstat\`). An API request is one HTTP request without a command: \`GET /processes\` of procman, \`getAllProcessInfo\` of supervisord's XML-RPC. The others have no API: their cells are empty.
- A start is timed from the manager's start command, which starts its daemon too, until the last process has reported that it listens or runs. All programs have been read from the disk before; procman has its compiled code, as after its first start.
- pm2 runs in fork mode with its quickest settings: no \`vizion\`, \`pmx\`, \`treekill\` or delay. supervisord's \`startsecs\` is 0. procman's log store is off but where a row names it, because no other has one. runit and s6 have one supervisor for each process, and wait for a second between two starts by design.
- PSS divides shared pages among those who share them. Private memory is what a manager costs on a machine where other programs run the same Node or Python.
- process-compose and pitchfork are missing: neither npm nor Debian has a package of them, and nothing else can be reached from the machine on which this was measured. The same holds for newer versions of the others.

![Bars of the most important rows](../images/benchmarks.svg)

${TABLES.flatMap((table) => tableOf(results, table)).join('\n\n')}

${alone.flat().join('\n\n')}

## Thousands of processes

An exponent of 1 is linear growth; memory begins with what an empty part has.

${scaleTable(results)}

The start grows a little faster than its number of processes: each fork and exec copies and closes the descriptors of the keeper, two for each process that runs already. In a program in C that does nothing else (\`bench/c/spawns.c\`), a fork and exec took 0.3 ms without descriptors and 2 ms with 18 000.

What runs out, in the usual order:

| what | how much | then |
|---|---|---|
| open files (\`ulimit -n\`, here ${figure(machine.open)}) | two in the keeper and two in the logger for each process whose output is captured | a warning at the start and in \`procman validate\` says how many processes can run; the others fail to start, with the limit in their message |
| processes of a user (\`ulimit -u\`), of a cgroup (\`pids.max\`), of the machine (\`kernel.pid_max\`) | each process and its children | the start fails, with these limits in its message |
| pages for pipes of a user other than root (\`fs.pipe-user-pages-soft\`) | 16 for each stream: 512 processes with the kernel's default | the kernel makes later pipes with 8 KB instead of 64: their processes wait more often while they print much |
| inotify watches (\`fs.inotify.max_user_watches\`) | one for each watched folder | the files are looked at every \`interval\` instead; the log says so |

<!-- end -->

How it is measured, and how to add a manager, stands in \`bench/README.md\` of a clone. What each trick for speed saves, and what was tried without gain: [performance](performance.md).
`;
}

/** @returns {Record<string, string>} text of each file that is made, by path */
export function files(results) {
  return { 'docs/design/benchmarks.md': page(results), 'docs/images/benchmarks.svg': chartOf(results) };
}

/**
 * What other pages claim and the results don't show.
 *
 * @param {(page: string) => string} read text of a page
 * @returns {string[]} a line for each
 */
export function wrongClaims(results, read) {
  return CLAIMS.flatMap(({ page, text, ...row }) => {
    const measured = valueOf(results, row, 'procman')?.median;
    if (measured === undefined) return [`${page}: "${text}": bench/results.json has no ${row.from} ${row.metric}`];
    const [before, after] = text.split('{}').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const figure = new RegExp(`${before}([\\d.]+)${after}`).exec(read(page))?.[1];
    if (figure === undefined) return [`${page}: it doesn't say "${text}" any more; change CLAIMS in bench/plan.mjs`];
    const isTooGood = row.isLow ? Number(figure) < measured * 0.9 : Number(figure) > measured * 1.1;
    return isTooGood ? [`${page}: "${text.replace('{}', figure)}": measured is ${measured.toPrecision(3)} (bench/results.json)`] : [];
  });
}
