/** Ports in the error messages of common servers and languages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { takenPorts } from "./taken-port.ts";

const NONE = { command: "./server" };

for (const [who, port, ...lines] of [
  [
    "Node",
    4888,
    "Error: listen EADDRINUSE: address already in use :::4888",
    "    at Server.setupListenHandle (node:net:1817:16)",
  ],
  [
    "Node on an address",
    4888,
    "Error: listen EADDRINUSE: address already in use 127.0.0.1:4888",
    "  code: 'EADDRINUSE',",
  ],
  ["Go", 8080, "2026/11/27 03:26:01 listen tcp :8080: bind: address already in use"],
  [
    "uvicorn",
    8000,
    "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use",
  ],
  ["gunicorn", 8000, "[2026-11-27 03:26:01 +0000] [12] [ERROR] Connection in use: ('127.0.0.1', 8000)"],
  [
    "Flask",
    5000,
    "Address already in use",
    "Port 5000 is in use by another program. Either identify and stop that program",
  ],
  ["Puma", 3000, 'Address already in use - bind(2) for "127.0.0.1" port 3000 (Errno::EADDRINUSE)'],
  ["Spring", 8080, "Web server failed to start. Port 8080 was already in use."],
  ["nginx", 80, "2026/11/27 03:26:01 [emerg] 7#7: bind() to 0.0.0.0:80 failed (98: Address already in use)"],
  ["PHP", 8000, "[Fri Nov 27 03:26:01 2026] Failed to listen on localhost:8000 (reason: Address already in use)"],
  ["Redis", 6379, "# Warning: Could not create server TCP listening socket *:6379: bind: Address already in use"],
  ["Vite", 5173, "Error: Port 5173 is already in use"],
] as const)
  test(`the port that another program has is read from the message of ${who}`, () => {
    assert.equal(takenPorts(lines, NONE)[0], port);
  });

test("a message without a port means that of the specification, of PORT or of the command", () => {
  const lines = ["Traceback (most recent call last):", "OSError: [Errno 98] Address already in use"];
  assert.deepEqual(takenPorts(lines, NONE), []);
  assert.deepEqual(takenPorts(lines, { command: "python3 -m http.server 8000 --bind 127.0.0.1" }), [8000]);
  assert.deepEqual(takenPorts(lines, { ...NONE, variable: "4000", port: 3000 }), [3000, 4000]);
  assert.deepEqual(takenPorts(["Error: That port is already in use."], { ...NONE, variable: "4000" }), [4000]);
});

test("other messages, and addresses that are no TCP port, name none", () => {
  const clues = { command: "./server 8000", variable: "4000" };
  assert.deepEqual(takenPorts(["Error: connect ECONNREFUSED 127.0.0.1:5432", "listening on port 80"], clues), []);
  assert.deepEqual(takenPorts(["Error: listen EADDRINUSE: address already in use /run/web.sock"], NONE), []);
});
