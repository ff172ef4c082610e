// What `npm run bench` runs, and what docs/design/benchmarks.md shows of it.
const peers = 'procman,pm2,supervisor,runit,s6';

/** Scenarios in the order in which they run. `options`: of the scenario; `quick`: for a first look, in a tenth of the time; `box`: beside systemd, in its machine. */
export const RUNS = [
  { scenario: '01-cold-start', options: { managers: peers, runs: 5 }, quick: { runs: 1 } },
  { scenario: '02-idle', options: { managers: peers, runs: 5, settle: 20, window: 30 }, quick: { runs: 1, settle: 5, window: 10 } },
  { scenario: '03-crash-recovery', options: { managers: peers, runs: 5, kills: 10 }, quick: { runs: 1 } },
  { scenario: '03-crash-recovery', options: { managers: peers, runs: 5, kills: 10, child: 'node' }, quick: { runs: 1 } },
  { scenario: '04-crash-storm', options: { managers: peers, runs: 5 }, quick: { runs: 1, seconds: 4 } },
  { scenario: '05-logs', options: { managers: peers, runs: 5 }, quick: { runs: 1 } },
  { scenario: '06-balancer', options: { targets: 'haproxy,nginx,procman', runs: 5 }, quick: { runs: 1 } },
  { scenario: '06-balancer-memory', options: { targets: 'haproxy,nginx,balancer' }, quick: { conns: '1000,2000' } },
  { scenario: '07-status', options: { managers: peers, runs: 5 }, quick: { runs: 1 } },
  { scenario: '08-kill', options: {}, quick: { kills: 3, large: 300, window: 5 } },
  { scenario: '09-store', options: {}, quick: { runs: 1, lines: 500000, querylines: 1000000 } },
  { scenario: '10-watch', options: {}, quick: { runs: 1 } },
  { scenario: '11-scale', options: {}, quick: { sizes: '200,1000', settle: 10, rest: 20, window: 10 } },
  { scenario: '01-cold-start', box: true, options: { managers: 'procman,systemd', runs: 5, only: 'sleep-100' }, quick: { runs: 1 } },
  { scenario: '03-crash-recovery', box: true, options: { managers: 'procman,systemd', runs: 5, kills: 10 }, quick: { runs: 1 } },
  { scenario: '12-journal', box: true, options: { managers: 'procman,systemd', runs: 5 }, quick: { runs: 1 } },
];

const ms = (text) => ({ unit: 'ms', text, isLow: true });

/** A row for each figure of several managers: the first of `managers` that has one is what the ratio is of. */
export const TABLES = [
  {
    title: 'Process managers',
    managers: ['procman', 'pm2', 'supervisor', 'runit', 's6'],
    rows: [
      { from: '01-cold-start/c-http-10', metric: 'allMs', ...ms('start: 10 servers in C accept') },
      { from: '01-cold-start/node-http-10', metric: 'allMs', ...ms('start: 10 servers in Node accept') },
      { from: '01-cold-start/sleep-100', metric: 'allMs', ...ms('start: 100 idle processes run'), chart: true },
      { from: '03-crash-recovery/c', metric: 'recoverMs', ...ms('`kill -9` of a server in C until the next one accepts'), chart: true },
      { from: '03-crash-recovery/node', metric: 'recoverMs', ...ms('`kill -9` of a server in Node until the next one accepts') },
      { from: '04-crash-storm', metric: 'restartsPerSec', unit: '/s', text: '100 processes that fail at once: restarts', chart: true },
      { from: '04-crash-storm', metric: 'statusMs', ...ms('100 processes that fail at once: the status command') },
      { from: '04-crash-storm', metric: 'requestMs', ...ms('100 processes that fail at once: an API request for the status') },
      { from: '05-logs/one-plain', metric: 'mbPerSec', unit: 'MB/s', text: 'log of one process', chart: true },
      { from: '05-logs/one-ts', metric: 'mbPerSec', unit: 'MB/s', text: 'log of one process, with time stamps' },
      { from: '05-logs/many-plain', metric: 'mbPerSec', unit: 'MB/s', text: 'log of 50 processes' },
      { from: '05-logs/many-ts', metric: 'mbPerSec', unit: 'MB/s', text: 'log of 50 processes, with time stamps' },
      { from: '05-logs/one-ts', metric: 'lost', unit: 'lines', text: '2 million lines with time stamps: lost', isLow: true },
      { from: '07-status/200', metric: 'statusMs', ...ms('the status command, 200 processes'), chart: true },
      { from: '07-status/200', metric: 'requestMs', ...ms('an API request for the status of 200 processes') },
      { from: '02-idle/10', metric: 'pssKiB', unit: 'MB', scale: 1.024e-3, text: 'at rest, 10 processes: memory (PSS)', isLow: true },
      { from: '02-idle/10', metric: 'privateKiB', unit: 'MB', scale: 1.024e-3, text: 'at rest, 10 processes: private memory', isLow: true },
      { from: '02-idle/200', metric: 'pssKiB', unit: 'MB', scale: 1.024e-3, text: 'at rest, 200 processes: memory (PSS)', isLow: true },
      { from: '02-idle/200', metric: 'privateKiB', unit: 'MB', scale: 1.024e-3, text: 'at rest, 200 processes: private memory', isLow: true },
      { from: '02-idle/200', metric: 'cpuSecPerMin', unit: 's/min', text: 'at rest, 200 processes: CPU', isLow: true },
    ],
  },
  {
    title: 'Load balancers',
    managers: ['procman', 'haproxy', 'nginx'],
    rows: [
      { from: '06-balancer', metric: 'keepRps', unit: '/s', text: 'requests over kept connections', chart: true },
      { from: '06-balancer', metric: 'keepP99', ...ms('p99 over kept connections') },
      { from: '06-balancer', metric: 'connRps', unit: '/s', text: 'a connection for each request' },
      { from: '06-balancer', metric: 'bulkMBs', unit: 'MB/s', text: 'a download of 1 GiB' },
      { from: '06-balancer-memory', metric: 'mib1000', unit: 'MiB', text: 'memory with 1 000 connections', isLow: true },
      { from: '06-balancer-memory', metric: 'kibPerFurther', unit: 'KiB', text: 'memory of each further connection', isLow: true },
    ],
  },
  {
    title: 'Beside systemd',
    text: 'Both run in a machine of namespaces whose PID 1 is a real systemd, with its files in memory. systemd runs already and has read its units, as after a boot; procman is started by its command. The journal keeps fields and an index of each line; its limit of lines is lifted (by default it drops what a unit prints beyond 10 000 lines in 30 s).',
    managers: ['procman', 'systemd'],
    rows: [
      { from: 'box-01-cold-start/sleep-100', metric: 'allMs', ...ms('start: 100 idle processes run') },
      { from: 'box-03-crash-recovery/c', metric: 'recoverMs', ...ms('`kill -9` of a server in C until the next one accepts') },
      { from: 'box-12-journal', metric: 'mbPerSec', unit: 'MB/s', text: 'log of one process into the log store, the journal' },
      { from: 'box-12-journal', metric: 'lost', unit: 'lines', text: 'half a million lines: lost', isLow: true },
    ],
  },
];

/** Figures of procman alone. */
export const ALONE = [
  {
    title: "procman's parts killed",
    rows: [
      { from: '08-kill/service-100', metric: 'decideMs', ...ms('the service and a process at once, of 100: the process is restarted') },
      { from: '08-kill/service-100', metric: 'apiMs', ...ms('… the API answers again') },
      { from: '08-kill/keeper-100', metric: 'adoptMs', ...ms('the keeper, with 100 processes: all are adopted') },
      { from: '08-kill/keeper-1000', metric: 'adoptMs', ...ms('the keeper, with 1 000 processes: all are adopted') },
    ],
  },
  {
    title: 'Files',
    rows: [
      { from: '09-store/write-store', metric: 'mbPerSec', unit: 'MB/s', text: '3 million lines of 100 bytes into the log store' },
      { from: '09-store/write-store-and-file', metric: 'mbPerSec', unit: 'MB/s', text: 'the same with a log file beside it' },
      { from: '09-store/read', metric: 'severityMs', ...ms('first page of the errors of 10 million lines') },
      { from: '09-store/read', metric: 'absentMs', ...ms('a text that none of them has') },
      { from: '09-store/read', metric: 'memoryMB', unit: 'MB', text: 'memory of six such searches, one after another', isLow: true },
      { from: '10-watch', metric: 'lateMs', ...ms('20 000 watched files: from a change to the restart, beyond `interval`') },
    ],
  },
];

/** The columns of the table of thousands. */
export const SCALE = [
  ['startMs', 'start, all up for `minUptimeMs` (1 s)', 's', 1e-3],
  ['keeperMb', 'keeper: private memory', 'MB', 1],
  ['serviceMb', 'service', 'MB', 1],
  ['loggerMb', 'logger', 'MB', 1],
  ['restCpuPercent', 'CPU at rest, all parts', '% of a core', 1],
  ['statusMs', '`procman status`', 'ms', 1],
  ['apiMs', '`GET /processes`', 'ms', 1],
  ['stateMs', '`GET /state`', 'ms', 1],
  ['oneMs', '`GET /processes/ID`', 'ms', 1],
  ['dashboardMs', 'the dashboard: until the list is shown', 'ms', 1],
  ['dashboardCpuPercent', 'CPU of all parts while it is open', '% of a core', 1],
  ['reloadMs', 'reload of one changed process', 's', 1e-3],
  ['adoptMs', 'keeper killed: all adopted, API answers', 's', 1e-3],
  ['adoptAllMs', 'all parts killed and started again', 's', 1e-3],
  ['terminateMs', '`procman terminate`', 's', 1e-3],
];

/** Figures that other pages claim: `text` stands in the page, with a figure in place of `{}` that is at most a tenth better than the median. */
export const CLAIMS = [
  { page: 'README.md', text: 'accepts connections again after about {} ms', from: '03-crash-recovery/c', metric: 'recoverMs', isLow: true },
  { page: 'README.md', text: 'may log {} MB/s', from: '05-logs/one-plain', metric: 'mbPerSec' },
  { page: 'README.md', text: 'MB/s, {} with time stamps', from: '05-logs/one-ts', metric: 'mbPerSec' },
  { page: 'docs/guide/logs.md', text: 'into the store at {} MB/s', from: '09-store/write-store', metric: 'mbPerSec' },
  { page: 'docs/guide/logs.md', text: 'a log file beside it at {}', from: '09-store/write-store-and-file', metric: 'mbPerSec' },
  { page: 'docs/guide/logs.md', text: 'less than {} ms', from: '09-store/read', metric: 'severityMs', isLow: true },
  { page: 'docs/guide/logs.md', text: "that doesn't occur {} s", from: '09-store/read', metric: 'absentMs', scale: 1e-3, isLow: true },
  { page: 'docs/guide/logs.md', text: 'about {} MB of memory', from: '09-store/read', metric: 'memoryMB', isLow: true },
];
