/** What a reader has before an example: given only where it isn't the project of `project/` with the page's last configuration. */

export type Setting = {
  /** The text that the block begins with. */
  readonly block: string;
  /** The configuration; `null`: there is none yet. */
  readonly config?: object | null;
  /** Lines of a shell before the block, between its lines, and after it. All must succeed. */
  readonly before?: string;
  readonly between?: string;
  readonly after?: string;
  /** How a text for another program is tried: lines of a shell, with the text in the file `block`. */
  readonly uses?: string;
  /** Of a program: source in front of it and behind it. */
  readonly prelude?: string;
  readonly postlude?: string;
  /** Its commands run in a terminal of 100 columns. */
  readonly inTerminal?: boolean;
  /** It needs this program, or `root`. */
  readonly needs?: string;
};

const web = { id: "web", cmd: "node server.js", autostart: true };
const mail = { id: "mail", cmd: "node mail.js", autostart: true };
const sleeper = { id: "web", cmd: "sleep 1000", autostart: true };
const cluster = { ...web, cluster: { instances: 2, startPort: 3001, commonPort: 3000 } };
const withApi = { processes: [web], api: { port: 9000 } };

/** Without a release, its process can't start yet. */
const RELEASE = `mkdir build
cp server.js package.json build
: > build/migrate.js
(cd build && npm install --package-lock-only --silent)
procman run --detach || [ $? = 1 ]`;

/** The block completes a configuration. */
function validated(part: string): string {
  const processes = '"processes": [{ "id": "web", "cmd": "true", "cwd": "current", "autostart": true }]';
  return `printf '{ ${part}, ${processes} }' "$(cat block)" > releases.json\nprocman validate --config releases.json`;
}

const DEPLOY_MD: readonly Setting[] = [
  { block: "// procman.jsonc", before: "ln -s . current" },
  { block: "$ procman deploy ./build --wait", before: `${RELEASE}\nprocman deploy ./build --wait` },
  { block: '"gate"', uses: validated('"releases": { %s }') },
  { block: '"releases": { "warm"', uses: validated("%s") },
  {
    block: "import { Procman }",
    config: { releases: {}, processes: [{ ...web, cwd: "current" }] },
    before: RELEASE,
  },
];

const API_MD: readonly Setting[] = [
  { block: "TOKEN=", config: withApi, before: "procman run --detach" },
  {
    block: 'curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" $URL/processes/web/exec',
    config: { processes: [web], api: { port: 9000, exec: true } },
    before: "procman run --detach\nTOKEN=$(procman token --consumer me)\nURL=http://127.0.0.1:9000",
  },
  {
    block: 'curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" $URL/processes/shell/input',
    config: { processes: [{ id: "shell", cmd: "bash", stdin: true, autostart: true }], api: { port: 9000 } },
    before:
      "procman run --detach --wait\nTOKEN=$(procman token --consumer me --scope input)\nURL=http://127.0.0.1:9000",
  },
  { block: "curl --unix-socket .procman", before: "procman run --detach\nTOKEN=$(procman token --consumer me)" },
  {
    block: '{\n  "type": "about:blank"',
    config: withApi,
    before: "procman run --detach",
    uses: `curl -s -H "Authorization: Bearer $(procman token --consumer me)" 'http://127.0.0.1:9000/logs?limt=1' > answer
node -e 'const [a, b] = ["answer", "block"].map((f) => JSON.parse(require("fs").readFileSync(f))); require("assert").deepEqual(a, b)'`,
  },
  { block: "curl -f http", config: withApi },
  {
    block: "location / {",
    needs: "nginx",
    uses: `printf 'events {}\\npid nginx.pid;\\nerror_log stderr;\\nhttp { access_log off; server { listen 127.0.0.1:8080; include block; } }\\n' > nginx.conf
PATH=$PATH:/usr/sbin nginx -t -q -p . -c nginx.conf`,
  },
  {
    block: "import { connect }",
    config: withApi,
    before: "procman run --detach",
    prelude: `import { execSync } from "node:child_process";
const token = execSync("procman token --consumer me 2>/dev/null", { encoding: "utf8" }).trim();
console.log = () => process.exit(0);`,
  },
];

const CLI_MD: readonly Setting[] = [
  { block: "npm install --global procman", needs: "man", before: "PATH=$PWD/global/bin:$PATH" },
  { block: 'procman init --id web --cmd "node server.js"    # creates', config: null },
  {
    block: "procman status -c ../shop",
    config: { processes: [sleeper] },
    before: `mkdir -p work shop /srv/shop
cp procman.jsonc shop
cp procman.jsonc /srv/shop
cd work
procman run --detach -c ../shop
procman run --detach -c /srv/shop`,
  },
  {
    block: "$ procman status\nID",
    config: { processes: [cluster, { id: "backup", cmd: "./backup.sh", cron: "0 3 * * *" }] },
    before: "procman run --detach --wait\nuntil procman status | grep -q CPU; do sleep 0.2; done",
    inTerminal: true,
  },
  { block: "procman status web mail", config: { processes: [web, mail] } },
  { block: "$ procman restart web mail", config: { processes: [cluster, mail] } },
  {
    block: "$ procman start api",
    config: {
      processes: [
        web,
        {
          id: "api",
          cmd: "echo 'Error: connect ECONNREFUSED 127.0.0.1:5432' >&2; exit 3",
          cron: "0 3 * * *",
          restart: "error",
          restartDelayMs: 5_000,
        },
      ],
    },
  },
  {
    block: "$ procman disable backup",
    config: { processes: [web, { id: "backup", cmd: "./backup.sh", cron: "0 3 * * *" }] },
  },
  {
    block: "$ procman signal HUP nginx",
    config: { processes: [{ id: "nginx", cmd: "trap : HUP; while :; do sleep 1; done", autostart: true }] },
  },
  { block: "procman init --force --name shop", config: null, before: "procman init --id web --cmd true" },
  {
    block: 'eval "$(procman',
    before: 'mkdir -p zsh ~/.config/fish/completions\nfpath=(none "$PWD/zsh")',
    config: null,
  },
  {
    block: "procman run web ",
    config: {
      processes: [
        web,
        { id: "test", cmd: "./report.sh", autostart: true, dependsOn: ["web"] },
        { id: "lint", cmd: "./mail.sh", autostart: true },
      ],
    },
    between: "procman terminate || [ $? = 69 ]",
  },
  { block: "$ procman run --detach", config: { name: "shop", processes: [web] } },
  { block: "$ npm install procman@latest", before: "procman run --detach" },
];

const DEV_MD: readonly Setting[] = [
  {
    block: "procman dev ",
    config: {
      processes: [
        { id: "web", cmd: "sleep 1", autostart: true, restart: "never" },
        { id: "api", cmd: "sleep 1000", autostart: true },
        mail,
      ],
    },
    between: "procman terminate || [ $? = 69 ]",
  },
];

const MIGRATE_MD: readonly Setting[] = [
  { block: '// procman.jsonc\n{\n  "name": "shop",\n  "processes": [\n    {\n      "id": "db"', needs: "redis-server" },
  {
    block: "$ procman import ecosystem.config.js",
    config: null,
    before: `echo 'module.exports = { apps: [{ name: "web", script: "server.js", post_update: [] }, { name: "report", script: "report.sh", cron_restart: "0 3 * * *", autorestart: false }] }' > ecosystem.config.js`,
  },
  {
    block: "$ procman import Procfile",
    config: null,
    before: "printf 'web: node server.js\\nthis is not a program\\n' > Procfile",
  },
];

const INTERFACES_MD: readonly Setting[] = [{ block: "procman monitor ", config: { name: "blog", processes: [web] } }];

const LIBRARY_MD: readonly Setting[] = [
  {
    block: "import { ProcmanError }",
    prelude: 'import { Procman } from "procman"; const procman = await Procman.run("procman.jsonc");',
    postlude: "await procman.terminate();",
  },
  {
    block: "for (const record of await procman.processes())",
    prelude: 'import { Procman } from "procman"; const procman = await Procman.run("procman.jsonc");',
    postlude: "await procman.terminate();",
  },
  {
    block: "procman\n  .on",
    prelude:
      'import { Procman } from "procman"; const procman = await Procman.run("procman.jsonc"); const alert = console.error;',
    postlude: "await procman.terminate();",
  },
  {
    block: 'await Procman.run("procman.jsonc", {',
    prelude: 'import { Procman } from "procman"; const mine = { log: () => undefined };',
    postlude: 'await (await Procman.connect("procman.jsonc")).terminate();',
  },
];

const METRICS_MD: readonly Setting[] = [
  {
    block: "$ procman status --json",
    config: withApi,
    before: "procman run --detach\nuntil procman status --json | grep -q cpuPercent; do sleep 0.2; done",
  },
  { block: "import { reportTelemetry }", prelude: "const jobs = [], served = 0;" },
  {
    block: '{ "process": "web", "memory"',
    config: withApi,
    before: "procman run --detach",
    uses: `curl -sSf -H "Authorization: Bearer $(procman token --consumer me)" -H 'Content-Type: application/json' -d @block http://127.0.0.1:9000/telemetry`,
  },
  { block: "scrape_configs:", needs: "promtool", uses: "promtool check config --syntax-only block" },
];

const RELIABILITY_MD: readonly Setting[] = [
  { block: "npm install -g procman", before: "procman run --detach" },
  {
    block: "procman run --detach --config /srv/app",
    config: { processes: [sleeper] },
    before: `mkdir -p /srv/app/releases/7 /srv/app/releases/8
cp procman.jsonc /srv/app/releases/7/procman.json
cp procman.jsonc /srv/app/releases/8/procman.json
ln -s releases/7 /srv/app/current
before=$(pwd); cd /srv/app`,
    after: 'cd "$before"\nprocman terminate --config /srv/app/current/procman.json',
  },
];

const CRASHING = {
  id: "api",
  cmd: "echo 'Error: connect ECONNREFUSED 127.0.0.1:5432' >&2; exit 3",
  autostart: true,
  restartLimit: 2,
  restartDelayMs: 10,
};

/** Runs a health check of a Dockerfile. */
const CHECK = `sh -c "$(sed 's/HEALTHCHECK CMD //' block)"`;

/** By page. */
export const SETTINGS: { readonly [page: string]: readonly Setting[] } = {
  "README.md": [
    { block: "npm install procman", config: null },
    { block: "npx procman append", config: { processes: [web] }, before: "procman run --detach" },
  ],
  "docs/reference/api.md": API_MD,
  "docs/reference/cli.md": CLI_MD,
  "docs/reference/json.md": [
    { block: "procman status --json", config: { processes: [web] }, before: "procman run --detach" },
  ],
  "docs/guide/clusters.md": [
    { block: '{\n  "processes": [\n    {\n      "id": "api"', before: "mkdir -p data/1 data/2" },
    {
      block: "$ procman scale web 6",
      config: { processes: [{ ...cluster, cluster: { ...cluster.cluster, instances: 4 } }] },
    },
    { block: "procman restart web", config: { processes: [cluster] } },
    {
      block: "// draining-server.mjs",
      uses: `PORT=3001 node draining-server.mjs & pid=$!
until curl -sf http://127.0.0.1:3001; do sleep 0.1; done
kill $pid; wait $pid`,
    },
  ],
  "docs/reference/configuration.md": [{ block: "procman init", config: null }],
  "docs/guide/containers.md": [
    {
      block: "# For a project",
      before: "npm install procman",
      uses: `rm -r node_modules
sed -n 's/^RUN npm ci/npm ci --offline/p' block | sh
test -x "node_modules/.bin/$(sed -n 's/^CMD ."\\([^"]*\\)".*/\\1/p' block)"`,
    },
    { block: "cp -r", between: "[ -f Dockerfile ] && [ -f .dockerignore ] && [ -f compose.yaml ]" },
    {
      block: "procman run --exit-with job",
      config: { processes: [web, { id: "job", cmd: "./backup.sh", autostart: true }] },
    },
    { block: "HEALTHCHECK CMD procman", before: "procman run --detach", uses: CHECK },
    {
      block: "HEALTHCHECK CMD bash",
      config: withApi,
      before: "procman run --detach --wait",
      uses: `${CHECK}\nprocman stop web\n! ${CHECK}`,
    },
  ],
  "docs/guide/crashes.md": [
    {
      block: "$ procman why api",
      config: { processes: [CRASHING] },
      before: "procman run --detach || procman status api | grep exhausted",
    },
    {
      block: "procman logs api",
      config: { processes: [CRASHING] },
      before: "procman run --detach || procman status api | grep exhausted",
    },
    { block: "TOKEN=", config: withApi, before: "procman run --detach" },
  ],
  "docs/guide/processes.md": [
    { block: '{\n  "processes": [\n    { "id": "db"', needs: "redis-server" },
    {
      block: "$ procman status\nID",
      config: {
        processes: [
          { ...sleeper, id: "db" },
          { ...sleeper, id: "migrate", dependsOn: ["db"] },
          { ...web, dependsOn: [{ id: "migrate", condition: "finished" }] },
        ],
      },
      before: "procman run\nuntil procman status | grep -q 'migrate  running'; do sleep 0.1; done",
    },
    { block: "$ procman status group:backend", before: "procman run --detach" },
    { block: "procman restart group:backend", before: "procman run --detach" },
  ],
  "docs/guide/environment.md": [
    { block: "$ procman exec web", config: { processes: [web] }, before: "procman run --detach" },
    { block: "// procman.jsonc", before: "echo key > /run/secrets/api-key" },
    { block: "$ procman validate", before: "echo key > /run/secrets/api-key\nprintf 'A=1\\n# and\\nB: 2\\n' > .env" },
    { block: '{\n  "processes": [{', needs: "root" },
  ],
  "docs/guide/ports.md": [{ block: "// procman.jsonc", before: "cp server2.js api.js" }],
  "docs/guide/export.md": [
    ...[
      "$ procman export --to compose",
      "  procman export --to kubernetes",
      "procman export --to nomad",
      "procman export --to haproxy",
    ].map((block) => ({ block, before: "echo key > /run/secrets/api-key" })),
    { block: "// procman.jsonc", before: "echo key > /run/secrets/api-key" },
    {
      block: "procman export --to systemd --output units\nsystemd-analyze",
      before: "echo key > /run/secrets/api-key",
      needs: "systemd-analyze",
    },
  ],
  "docs/guide/deploy.md": DEPLOY_MD,
  "docs/guide/dev.md": DEV_MD,
  "docs/guide/migrate.md": MIGRATE_MD,
  "docs/guide/library.md": LIBRARY_MD,
  "docs/guide/recipes.md": [
    { block: "procman add", config: null, between: "until procman status --check web; do sleep 0.1; done" },
    { block: "procman validate", before: "procman run --detach" },
    { block: "procman append", config: { processes: [web] } },
    { block: "$ procman restart web", before: "procman run --detach --wait" },
    { block: "$ mv server.js old.js", before: "procman run --detach --wait" },
    { block: "umask 077", config: withApi, before: "procman run --detach" },
    {
      block: "procman token --consumer anna --scope read,control",
      config: { processes: [web, { ...mail, groups: "backend" }] },
    },
  ],
  "docs/guide/logs.md": [
    {
      block: "procman flush --yes",
      config: {
        processes: [
          web,
          { id: "worker", cmd: "echo done; sleep 1000", autostart: true, logger: { stdout: "worker.log" } },
        ],
      },
      before: "procman run --detach",
    },
    {
      block: "$ procman logs",
      config: { name: "shop", processes: [web] },
      uses: "procman run --detach\nls .procman/shop/logs/*.open",
    },
  ],
  "docs/reference/metrics.md": METRICS_MD,
  "docs/guide/interfaces.md": INTERFACES_MD,
  "docs/guide/plugins.md": [
    {
      block: "$ procman status",
      config: { processes: [web], plugins: [{ url: "./slack.mjs", options: {} }] },
      before: `echo 'export default { name: "slack", version: "1.0.0", schema: { type: "object", required: ["channel"] }, setup() {} };' > slack.mjs
procman run --detach
until procman status | grep -q slack; do sleep 0.1; done`,
    },
  ],
  "docs/reference/reliability.md": RELIABILITY_MD,
  "docs/guide/history.md": [
    {
      block: "$ procman run --detach",
      config: { processes: [web] },
      before: "mkdir -p /srv/shop\ncp procman.jsonc server.js server2.js /srv/shop\ncd /srv/shop",
    },
  ],
  "docs/guide/reload.md": [
    {
      block: "$ procman run --detach",
      config: { processes: [web, ...Array.from({ length: 11 }, (_, index) => ({ ...sleeper, id: `other-${index}` }))] },
    },
    {
      block: "$ procman plan --profile production",
      config: {
        processes: [web],
        profiles: { production: { processes: [{ id: "web", env: { NODE_ENV: "production" } }] } },
      },
      before: "procman run",
    },
  ],
  "docs/guide/start-at-boot.md": [
    {
      block: "[Service]",
      needs: "systemd-analyze",
      uses: `(cat block; echo ExecStart=/bin/true) > procman-shop.service\nsystemd-analyze verify --man=no ./procman-shop.service`,
    },
  ],
  "docs/guide/supervision.md": [
    { block: '{ "id": "setup"', before: "echo yes > answers.txt" },
    {
      block: '{ "id": "nginx"',
      needs: "nginx",
      before: `mkdir -p /srv/www/logs
printf 'events {}\\npid nginx.pid;\\nerror_log stderr;\\nhttp { access_log off; server { listen 127.0.0.1:8080; } }\\n' > /srv/www/nginx.conf
PATH=$PATH:/usr/sbin`,
    },
    {
      block: "$ procman reload nginx",
      config: {
        processes: [
          { id: "nginx", cmd: "trap : HUP; while :; do sleep 1; done", autostart: true, reloadSignal: "SIGHUP" },
        ],
      },
    },
    { block: '{ "id": "jobs"', needs: "python3" },
    { block: '{ "id": "sync"', before: "printf '#!/bin/sh\\n' > bin/rsync; chmod +x bin/rsync" },
    {
      block:
        '{\n  "processes": [\n    {\n      "id": "web",\n      "cmd": "node server.js",\n      "autostart": true,\n      "ready"',
      needs: "redis-server",
    },
  ],
  "docs/reference/security.md": [
    { block: "procman token --consumer team-b", config: { processes: [web, { ...mail, groups: "backend" }] } },
    { block: "curl -H", config: withApi, before: "procman run --detach" },
    {
      block: "curl -X POST",
      config: withApi,
      before:
        "procman run --detach\nPROCMAN_API_TOKEN=$(procman token --consumer me) PROCMAN_API_HOSTNAME=127.0.0.1 PROCMAN_API_PORT=9000",
    },
  ],
  "examples/plugins/README.md": [
    { block: "npx procman run", between: "until [ -s messages.txt ] && [ -s received.log ]; do sleep 0.2; done" },
  ],
  "examples/quickstart/README.md": [
    { block: "npx procman status", before: "npx procman run\nuntil [ -s logs/web.log ]; do sleep 0.1; done" },
  ],
  "examples/shared-socket/README.md": [
    { block: "npx procman run", needs: "python3" },
    {
      block: "curl http",
      needs: "python3",
      before: "npx procman run\nuntil procman status --check; do sleep 0.1; done",
    },
  ],
  "examples/worker/README.md": [{ block: "npx procman restart", before: "npx procman run" }],
};
