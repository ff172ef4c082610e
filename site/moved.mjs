/** Addresses of 1.0.0, as paths without `.md` in `docs/`, and where their content is now. */

/** Pages that have kept their name, by their folder. */
const STAYED = {
  guide: [
    "clusters",
    "containers",
    "crashes",
    "dashboard",
    "dependencies",
    "environment",
    "executable",
    "export",
    "groups",
    "health",
    "hooks",
    "hosts",
    "library",
    "limits",
    "monitor",
    "plugins",
    "reload",
    "scaling",
    "schedules",
    "start-at-boot",
    "supervision",
    "watch",
    "workers",
  ],
  reference: [
    "api",
    "cli",
    "commands",
    "configuration",
    "errors",
    "fields",
    "metrics",
    "reliability",
    "security",
    "tokens",
    "versions",
  ],
  design: ["architecture", "benchmarks", "glossary", "performance"],
};

/** Pages that have become a part of another one. */
const MERGED = {
  deploy: "guide/recipes#deploy-without-downtime",
  develop: "guide/recipes#develop-with-watch",
  "from-compose": "guide/migrate#from-compose",
  "from-pm2": "guide/migrate#from-pm2",
  "from-supervisord": "guide/migrate#from-supervisord",
  "from-systemd": "guide/migrate#from-systemd-units",
  import: "guide/migrate#import",
  incidents: "guide/crashes",
  "keep-alive": "guide/recipes#keep-a-web-app-alive",
  "log-store": "guide/logs#the-log-store",
  logging: "guide/logs",
  "nightly-job": "guide/recipes#a-job-every-night",
};

/** From the old to the new address. */
export const MOVED = new Map([
  ...Object.entries(STAYED).flatMap(([folder, names]) => names.map((name) => [name, `${folder}/${name}`])),
  ...Object.entries(MERGED),
]);

/** The page at an old address: it leads to the new one, and keeps an anchor. */
export function redirectTo(target) {
  const [page, anchor = ""] = target.split("#");
  const hash = anchor === "" ? "" : `#${anchor}`;
  const url = `${page}.html${hash}`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Moved</title>
<meta http-equiv="refresh" content="1; url=${url}">
<script>location.replace("${page}.html" + (location.hash || "${hash}"));</script>
<p>This page has moved: <a href="${url}">${url}</a>.</p>
</html>
`;
}
