/** What to do about fields and sections of supervisord without an equal. */
import type { AdviceTable } from "./foreign-fields.ts";

export const PROGRAM_ADVICE: AdviceTable = {
  process_name: "",
  priority: 'processes start together; if one must wait for others: "dependsOn", docs/guide/dependencies.md',
  serverurl: "the REST API is in docs/reference/api.md",
  stdout_capture_maxbytes: "programs send events by procman's API: docs/reference/api.md",
  stderr_capture_maxbytes: "programs send events by procman's API: docs/reference/api.md",
  stdout_events_enabled: "plugins get all lines and events: docs/guide/plugins.md",
  stderr_events_enabled: "plugins get all lines and events: docs/guide/plugins.md",
  socket: 'the instances of a cluster share a TCP socket by "mode": "share": docs/guide/clusters.md',
  socket_owner: "a shared socket is a TCP port",
  socket_mode: "a shared socket is a TCP port",
  socket_backlog: "the backlog of a shared socket can't be set",
};

export const SUPERVISORD_ADVICE: AdviceTable = {
  logfile: "",
  logfile_maxbytes: "",
  logfile_backups: "",
  loglevel: "",
  pidfile: "",
  nodaemon: "",
  silent: "",
  childlogdir: "",
  strip_ansi: "procman stores output as it is; `procman logs` leaves colours out where they aren't wanted",
  nocleanup: "",
  identifier: "",
  umask: 'is "umask" of each process',
  minfds: '"ulimits": { "nofile": … } of the processes that need it',
  minprocs: '"ulimits": { "nproc": … } of the processes that need it',
  user: "start procman as this user",
  directory: "start procman in the folder of its file",
};

export const SECTION_ADVICE: AdviceTable = {
  unix_http_server: "",
  inet_http_server: "the REST API has tokens: docs/reference/api.md",
  supervisorctl: "",
  rpcinterface: "",
  eventlistener: 'a plugin or `GET /events` gets the events: docs/guide/plugins.md; for mails procman/notify, for memory "memoryLimit"',
};
