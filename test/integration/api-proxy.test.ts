/** The API behind nginx, as docs/reference/api.md recommends it. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../support/free-ports.ts";
import { eventually, startProcman } from "../support/procman-process.ts";
import { isMissing, SYSTEM_PATHS } from "../support/system-programs.ts";

const NAME = "procman.example.org";

/** Two proxies: one passes on the name that the client asked for, the other one doesn't. */
const CONF = (api: number, [named, unnamed]: readonly [number, number]): string => `
pid nginx.pid;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server { listen 127.0.0.1:${named}; location / { proxy_pass http://127.0.0.1:${api}; proxy_set_header Host $host; } }
  server { listen 127.0.0.1:${unnamed}; location / { proxy_pass http://127.0.0.1:${api}; } }
}
`;

/** Status of the answer; 401: it was let in, without a token. */
function statusOf(port: number, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: "127.0.0.1", path: "/state", headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.on("error", reject);
    call.end();
  });
}

test("a reverse proxy whose name is in api.hosts may pass on that name or not; pages of other sites stay refused", async (context) => {
  if (isMissing(context, "nginx")) return;
  const [port, named, unnamed] = [await freePort(), await freePort(), await freePort()];
  const cmd = `until [ -e nginx.conf ]; do sleep 0.02; done; exec nginx -p "$PWD" -e /dev/stderr -c nginx.conf -g 'daemon off;'`;
  const nginx = { id: "nginx", cmd, path: SYSTEM_PATHS, autostart: true };
  const procman = await startProcman(context, [nginx], { config: { api: { port, hosts: [NAME] } } });
  writeFileSync(join(procman.folder, "nginx.conf"), CONF(port, [named, unnamed]));
  for (const proxy of [named, unnamed]) {
    let up = 0;
    await eventually(() => {
      void statusOf(proxy, { host: NAME }).then(
        (status) => (up = status),
        () => undefined,
      );
      return up > 0 && up !== 502 ? true : undefined;
    });
    assert.equal(await statusOf(proxy, { host: NAME }), 401, `${proxy === named} without a page`);
    assert.equal(await statusOf(proxy, { host: NAME, origin: `https://${NAME}` }), 401, `${proxy === named} its page`);
    assert.equal(
      await statusOf(proxy, { host: NAME, origin: `https://${NAME}:8443` }),
      401,
      `${proxy === named} its page, another port`,
    );
    assert.equal(
      await statusOf(proxy, { host: NAME, origin: "https://evil.example" }),
      403,
      `${proxy === named} a page of another site`,
    );
  }
  assert.equal(await statusOf(named, { host: "evil.example" }), 403);
});
