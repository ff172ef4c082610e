import { list, object, openObject, optional, string } from "../../../core/base/schema.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { isDownByFailure, isImpaired, isSkipped } from "../../../core/contract/status-sets.ts";
import { READS, tool } from "../tool.ts";
import { ID, membersOf, PROCESS, processLines, shownProcesses } from "../tool-fields.ts";

export const statusTool = tool({
  name: "status",
  title: "Status of processes",
  description:
    "The state of all processes, or of those named: whether each is up, why it is in its state, CPU and memory. Also whether the configuration file has changes that are not applied. Begin here.",
  input: object({ ids: optional(list(ID, { maxItems: 100, description: "Default: all." })) }),
  output: {
    procman: openObject({
      name: string(),
      version: string(),
      status: string({ description: "running, or terminating." }),
      configFile: string({ description: "Absolute path." }),
      unapplied: optional(string({ description: "The file has `changes` that are not applied, or is `invalid`." })),
    }),
    processes: list(PROCESS),
  },
  annotations: READS,
  needs: ["read"],
  call: async ({ ids = [] }, { connect }) => {
    const client = await connect();
    const [state, records] = await Promise.all([
      client.state(),
      ids.length === 0 ? client.processes() : Promise.all(ids.map((id) => client.process(id))),
    ]);
    const { name, version, status, configFile, unapplied } = state;
    const changes = unapplied === undefined ? [] : [`The configuration file has unapplied ${unapplied}: ${configFile}`];
    return {
      data: {
        procman: { name, version, status, configFile, ...(unapplied && { unapplied }) },
        processes: records.flatMap(shownProcesses),
      },
      text: [`procman ${version}, "${name}", ${status}`, ...changes, ...records.flatMap(processLines)].join("\n"),
      next: nextOf(records.flatMap(membersOf), unapplied),
    };
  },
});

function nextOf(members: readonly ProcessRecord[], unapplied: string | undefined): string {
  const failed = members.filter((each) => isDownByFailure(each) || isSkipped(each) || isImpaired(each));
  if (failed.length > 0)
    return `Call "why" for ${failed
      .map(({ id }) => id)
      .slice(0, 5)
      .join(", ")}.`;
  if (unapplied === "invalid") return 'Call "validate": the configuration file is not valid.';
  if (unapplied === "changes") return 'Call "plan" to see what a reload would do.';
  return 'Nothing needs attention. "logs" shows output, "metrics" CPU and memory over time.';
}
