/** What to do about directives of `[Service]` without an equal. */

const SANDBOX = "procman has no sandbox: set it in procman's own unit, for all processes";

/** The first row that matches counts; an empty text: nothing is needed. */
export const UNIT_ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^(ExecStartPost)$/, '"ready" says when it is up; a command beside the program is a process with "dependsOn"'],
  [/^(ExecStop)$/, 'it is stopped by "stopSignal"'],
  [/^(WatchdogSec)$/, '"health" asks it at intervals, by a port, an address or a command: docs/guide/health.md'],
  [/^(RemainAfterExit|GuessMainPID|NotifyAccess|SyslogIdentifier|TimeoutStartSec|SendSIGKILL|FinalKillSignal|TimeoutAbortSec)$/, ""],
  [/^(StandardInput|TTY.*)$/, "standard input is /dev/null"],
  [/^(Syslog.*|Log.*)$/, 'output is in procman\'s log: "logger", docs/guide/logs.md'],
  [
    /^(RuntimeDirectory|StateDirectory|CacheDirectory|LogsDirectory|ConfigurationDirectory).*$/,
    'let a "beforeStart" hook make the folder: docs/guide/hooks.md',
  ],
  [/^(SupplementaryGroups|DynamicUser)$/, '"user" has the groups of that account'],
  [
    /^(Slice|Delegate|.*Accounting|CPUWeight|IOWeight|StartupCPUWeight|MemorySwapMax|TasksMax|CPUAffinity|CPUSchedulingPolicy|AllowedCPUs)$/,
    'limits are "memoryMax", "cpuQuota", "nice" and "ulimits": docs/guide/limits.md',
  ],
  [
    /^(Protect.*|Private.*|Restrict.*|Capability.*|Ambient.*|NoNewPrivileges|SystemCall.*|ReadOnly.*|ReadWrite.*|Inaccessible.*|LockPersonality|MemoryDenyWriteExecute|Device.*|Bind.*|RootDirectory|RootImage|SELinuxContext|AppArmorProfile|SecureBits|IPAddress.*|TemporaryFileSystem|RemoveIPC|KeyringMode|Umask)$/,
    SANDBOX,
  ],
  [/^(Sockets)$/, 'a listening socket is "mode": "share" of a cluster: docs/guide/clusters.md'],
];

/** Units that are there when procman starts. */
export const IGNORED_TARGETS: RegExp = /^$|\.(target|slice|mount|swap)$|^(systemd|dbus|syslog|rsyslog|getty)\b/;
