/** Pages that had another address in 1.0.0, as paths without `.md` in `docs/`: the old one, and where its content is now. */

const STAYED = {
  guide: [
    "clusters",
    "containers",
    "crashes",
    "dashboard",
    "dependencies",
    "deploy",
    "develop",
    "environment",
    "executable",
    "export",
    "from-compose",
    "from-pm2",
    "from-supervisord",
    "from-systemd",
    "groups",
    "health",
    "hooks",
    "hosts",
    "import",
    "incidents",
    "keep-alive",
    "library",
    "limits",
    "log-store",
    "logging",
    "monitor",
    "nightly-job",
    "plugins",
    "reload",
    "scaling",
    "schedules",
    "start-at-boot",
    "supervision",
    "watch",
    "workers",
  ],
  reference: ["api", "cli", "commands", "configuration", "errors", "fields", "metrics", "reliability", "security", "tokens", "versions"],
  design: ["architecture", "benchmarks", "glossary", "performance"],
};

/** From the old to the new address. */
export const MOVED = new Map(Object.entries(STAYED).flatMap(([folder, names]) => names.map((name) => [name, `${folder}/${name}`])));

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
