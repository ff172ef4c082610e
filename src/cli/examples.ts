/** Examples at the end of each command's help. */
import type { CommandName } from "./output/overview.ts";

export const EXAMPLES: Readonly<Record<CommandName, readonly string[]>> = {
  run: ["run", "run --detach --wait", "run web --console", "run --once test lint"],
  terminate: ["terminate", "terminate --name shop"],
  upgrade: ["upgrade"],
  install: ["install", "install --dry-run", "install --system --run-as deploy"],
  uninstall: ["uninstall", "uninstall --name shop --system"],
  status: [
    "status",
    "status web",
    "status --name shop",
    "status --check web",
    "status group:backend",
    "status --host web1,web2",
  ],
  monitor: ["monitor", "monitor --name shop", "monitor --host web1", "monitor | tee changes"],
  dashboard: ["dashboard", "dashboard --scope read", "dashboard --no-open"],
  logs: [
    "logs -f",
    "logs web -n 20",
    "logs --severity error --since 10m",
    "logs web --search timeout --since yesterday",
  ],
  why: ["why web", "why web -n 3"],
  list: ["list", "list --json"],
  show: ["show web", "show web --json"],
  next: ["next", "next backup"],
  start: ["start web", "start web mail", "start web --with-dependencies", "start all"],
  stop: ["stop web", "stop web-2", "stop web --keep", "stop all --no-wait"],
  restart: ["restart web", "restart group:backend", "restart all --timeout 30"],
  block: ["block backup"],
  unblock: ["unblock backup"],
  disable: ["disable backup", "disable web --now"],
  enable: ["enable backup", "enable web --now"],
  scale: ["scale web 4", "scale web +1", "scale web max"],
  signal: ["signal HUP nginx", "signal USR2 web --to leader"],
  flush: ["flush", "flush web", "flush --yes"],
  plan: ["plan", "plan --exit-code"],
  reload: ["reload", "reload --profile production", "reload nginx"],
  init: [
    "init",
    'init --id web --cmd "node server.js"',
    'init --name shop --id web --cmd "node server.js" --env PORT=3000',
  ],
  add: ["add -- node server.js", "add --id mail -- node mail.js --port 2525", "add './report.sh | gzip > report.gz'"],
  append: [
    'append --id mail --cmd "node mail.js" --restart always',
    'append --id report --cmd ./report.sh --cron "0 3 * * *"',
  ],
  remove: ["remove mail", "remove mail --apply"],
  import: [
    "import ecosystem.config.js",
    "import compose.yaml --check",
    "import /etc/systemd/system/web.service --stdout",
    "import --from-running pm2",
  ],
  validate: ["validate", "validate --profile production"],
  export: [
    "export --to compose --output deploy",
    "export --to kubernetes --image registry.example.com/shop:1",
    "export --to haproxy",
  ],
  schema: ["schema > procman.schema.json"],
  host: [
    "host add web1 ssh://deploy@web1",
    "host add web2 ssh://deploy@10.0.0.2:2222/srv/shop",
    "host add web3 https://web3.example.org --token-file web3.token",
    "host list",
    "host remove web3",
  ],
  token: [
    "token --consumer grafana --scope read",
    "token --consumer ci --scope read,control --expire-in 3600",
    "token --consumer team --group backend",
  ],
  completion: ["completion bash"],
};

/** The lines after the options. */
export function examplesOf(name: CommandName): string {
  return `\n${EXAMPLES[name].length === 1 ? "Example" : "Examples"}:\n${EXAMPLES[name].map((example) => `  procman ${example}`).join("\n")}`;
}
