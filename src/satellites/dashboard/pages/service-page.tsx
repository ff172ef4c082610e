/** procman itself: its service, the machine, and the plugins. */
import type { ComponentChildren, JSX } from "preact";
import { age, size } from "../../../core/base/quantity.ts";
import type { PartRecord } from "../../../core/contract/part-record.ts";
import type { PluginRecord } from "../../../core/contract/plugin-record.ts";
import type { StateRecord } from "../../../core/contract/state-record.ts";
import { useApp, useNow, useObserved } from "../parts/app-context.ts";
import { Moment } from "../parts/moments.tsx";
import { ScrollArea } from "../parts/scroll-area.tsx";

const CLOCK_MS = 5_000;

export function ServicePage(): JSX.Element {
  const { model } = useApp();
  const state = useObserved(model.state);
  const now = useNow(CLOCK_MS);
  return (
    <>
      <h1>System</h1>
      {state === undefined ? (
        <p class="empty">Waiting for procman …</p>
      ) : (
        <>
          <div class="cards">
            <ProcmanCard state={state} now={now} />
            <ServiceCard state={state} now={now} />
            <MachineCard state={state} />
          </div>
          <PartTable parts={state.parts} />
          <PluginTable plugins={state.plugins ?? []} now={now} />
        </>
      )}
    </>
  );
}

function Card({ title, children }: { readonly title: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <section class="card">
      <h2>{title}</h2>
      <dl>{children}</dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function ProcmanCard({ state }: { readonly state: StateRecord; readonly now: number }): JSX.Element {
  const { version, pid, status, configFile, profile, api } = state;
  return (
    <Card title="procman">
      <Fact name="Version">{version}</Fact>
      <Fact name="Status">{status}</Fact>
      <Fact name="Keeper">pid {pid}</Fact>
      <Fact name="Configuration">{configFile}</Fact>
      {profile !== undefined && <Fact name="Profile">{profile}</Fact>}
      <Fact name="API">{api === undefined ? "no port" : `${api.hostname}:${api.port}`}</Fact>
    </Card>
  );
}

function ServiceCard({ state, now }: { readonly state: StateRecord; readonly now: number }): JSX.Element {
  const { started, memory, cpuPercent, runtime } = state;
  return (
    <Card title="Service process">
      <Fact name="Started">
        <Moment time={started} now={now} />
      </Fact>
      <Fact name="CPU">{cpuPercent.toFixed(2)} % of one core, average since the start</Fact>
      <Fact name="Memory">{size(memory.rss)}</Fact>
      <Fact name="JavaScript heap">
        {size(memory.heapUsed)} of {size(memory.heapTotal)}
      </Fact>
      <Fact name="Runtime">
        {runtime.name} {runtime.version}
      </Fact>
    </Card>
  );
}

function MachineCard({ state: { system } }: { readonly state: StateRecord }): JSX.Element {
  const { hostname, platform, release, arch, cpus, loadAverage, totalMemoryBytes, freeMemoryBytes, uptimeSeconds } =
    system;
  return (
    <Card title="Machine">
      <Fact name="Name">{hostname}</Fact>
      <Fact name="OS">
        {platform} {release}, {arch}
      </Fact>
      <Fact name="Processors">{cpus}</Fact>
      <Fact name="Load">{loadAverage.map((load) => load.toFixed(2)).join(" · ")}</Fact>
      <Fact name="Memory">
        {size(totalMemoryBytes - freeMemoryBytes)} of {size(totalMemoryBytes)}
      </Fact>
      <Fact name="Up">{age(uptimeSeconds * 1_000)}</Fact>
    </Card>
  );
}

const PART_WORK: Readonly<Record<PartRecord["part"], string>> = {
  keeper: "owns the processes",
  service: "decides, and serves this page",
  logger: "writes the output",
  balancer: "accepts connections to common ports",
};

function PartTable({ parts }: { readonly parts: readonly PartRecord[] }): JSX.Element | null {
  if (parts.length === 0) return null;
  return (
    <section aria-labelledby="parts-title">
      <h2 id="parts-title">Parts</h2>
      <ScrollArea name="Table of parts">
        <table class="plain parts">
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col" class="number">
                Pid
              </th>
              <th scope="col">Version</th>
              <th scope="col" class="number">
                Private memory
              </th>
            </tr>
          </thead>
          <tbody>
            {parts.map(({ part, pid, version, memoryBytes }) => (
              <tr key={part}>
                <th scope="row">
                  {part} <span class="muted">{PART_WORK[part]}</span>
                </th>
                <td class="number">{pid}</td>
                <td>{version ?? "not known"}</td>
                <td class="number">{memoryBytes === undefined ? "" : size(memoryBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
    </section>
  );
}

function PluginTable({
  plugins,
  now,
}: {
  readonly plugins: readonly PluginRecord[];
  readonly now: number;
}): JSX.Element {
  return (
    <section aria-labelledby="plugins-title">
      <h2 id="plugins-title">Plugins</h2>
      {plugins.length === 0 ? (
        <p class="empty">No plugins in the configuration, or none that this token may see.</p>
      ) : (
        <ScrollArea name="Table of plugins">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Plugin</th>
                <th scope="col">State</th>
                <th scope="col">Version</th>
                <th scope="col">Started</th>
                <th scope="col" class="number">
                  Restarts
                </th>
                <th scope="col" class="number">
                  Memory
                </th>
                <th scope="col" class="number">
                  Lost events
                </th>
              </tr>
            </thead>
            <tbody>
              {plugins.map((plugin) => (
                <PluginRow key={plugin.id} plugin={plugin} now={now} />
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </section>
  );
}

function PluginRow({ plugin, now }: { readonly plugin: PluginRecord; readonly now: number }): JSX.Element {
  const { id, url, status, version = "", started, restarts, memoryBytes, lostEvents, problem } = plugin;
  return (
    <tr>
      <th scope="row" title={url}>
        {id}
      </th>
      <td>
        {status}
        {problem === undefined ? "" : `: ${problem}`}
      </td>
      <td>{version}</td>
      <td>{started === undefined ? "" : <Moment time={started} now={now} />}</td>
      <td class="number">{restarts}</td>
      <td class="number">{memoryBytes === undefined ? "" : size(memoryBytes)}</td>
      <td class="number">{lostEvents}</td>
    </tr>
  );
}
