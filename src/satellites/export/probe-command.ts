/** Checks of a process as command lines for bash, for targets that run a command inside. */
import type { Probe, ReadyProbe } from "../../core/contract/probe-spec.ts";

/** Words that end with 0 if the check succeeds. Only bash is needed: images seldom have curl. */
export function probeWords(probe: Probe): readonly string[] {
  if (probe.kind === "exec") return ["/bin/sh", "-c", probe.line];
  return ["bash", "-c", probe.kind === "port" ? `</dev/tcp/127.0.0.1/${probe.port}` : httpLine(probe)];
}

function httpLine({ hostname, port, path }: Probe & { readonly kind: "http" }): string {
  const request = `GET ${path} HTTP/1.0\\r\\nHost: ${hostname}\\r\\n\\r\\n`;
  const format = `'${request.replaceAll("%", "%%").replaceAll("'", "'\\''")}'`;
  return `exec 3<>/dev/tcp/127.0.0.1/${port} && printf ${format} >&3 && read -r _ status _ <&3 && [[ $status == [23]* ]]`;
}

/** Whether another program can make this check. */
export function isProbe(ready: ReadyProbe | undefined): ready is Probe {
  return ready !== undefined && (ready.kind === "port" || ready.kind === "http" || ready.kind === "exec");
}
