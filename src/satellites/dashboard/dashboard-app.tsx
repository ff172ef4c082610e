/** The dashboard: signs in, then shows the page that the address names. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { fetchSend } from "../../client/transport.ts";
import { age } from "../../core/base/quantity.ts";
import { hostTime } from "../../core/base/time-stamp.ts";
import type { HostList } from "../../core/contract/host-links.ts";
import { LogPage } from "./logs/log-page.tsx";
import { addressOf, hostList } from "./model/host-list.ts";
import { LiveModel } from "./model/live-model.ts";
import { Notices } from "./model/notices.ts";
import { addressIn, hashOf, type PageAddress, type PageName } from "./model/page-address.ts";
import { allows, type Session, type TabSession } from "./model/session.ts";
import { OverviewPage } from "./overview/overview-page.tsx";
import { HostsPage } from "./pages/hosts-page.tsx";
import { IncidentsPage } from "./pages/incidents-page.tsx";
import { PlanPage } from "./pages/plan-page.tsx";
import { ServicePage } from "./pages/service-page.tsx";
import { AppContext, useApp, useNow, useObserved } from "./parts/app-context.ts";
import { Icon } from "./parts/icons.tsx";
import { ProcessPage } from "./process/process-page.tsx";
import { SignInForm } from "./sign-in-form.tsx";

export function DashboardApp({ session }: { readonly session: Session }): JSX.Element {
  const { session: tab } = useObserved(session.state);
  return tab === undefined ? (
    <SignInForm session={session} />
  ) : (
    <SignedIn key={tab.token} session={session} tab={tab} />
  );
}

/** Behind a reverse proxy it may lie below a path. */
function apiUrl(): string {
  return location.origin + location.pathname;
}

function SignedIn({ session, tab }: { readonly session: Session; readonly tab: TabSession }): JSX.Element {
  const parts = useMemo(() => {
    const model = new LiveModel(fetchSend({ url: apiUrl(), token: tab.token }), (why) => session.signOut(why));
    return { model, session, tab, notices: new Notices() };
  }, [session, tab]);
  useEffect(() => {
    parts.model.start();
    return () => parts.model.stop();
  }, [parts]);
  const address = useAddress();
  return (
    <AppContext.Provider value={parts}>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <TopBar page={address.page} />
      <EndBanner />
      <main id="main" tabIndex={-1} class={address.page}>
        <Page address={address} />
      </main>
      <NoticeList />
    </AppContext.Provider>
  );
}

function useAddress(): PageAddress {
  const [address, setAddress] = useState(() => addressIn(location.hash));
  useEffect(() => {
    const look = (): void => setAddress(addressIn(location.hash));
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  return address;
}

const TITLES: Readonly<Record<Exclude<PageName, "process">, string>> = {
  overview: "Overview",
  logs: "Logs",
  incidents: "Incidents",
  plan: "Changes",
  service: "System",
  hosts: "Hosts",
};

function TopBar({ page }: { readonly page: PageName }): JSX.Element {
  const { model, session, tab } = useApp();
  const state = useObserved(model.state);
  const name = state?.name ?? "procman";
  const hosts = hostList();
  const isShown = { plan: allows(tab, "admin"), hosts: hosts !== undefined } as const;
  const pages = (Object.keys(TITLES) as (keyof typeof TITLES)[]).filter(
    (each) => !(each in isShown) || isShown[each as "plan" | "hosts"],
  );
  useEffect(() => {
    document.title = `${name} – ${page === "process" ? "Process" : TITLES[page]}`;
  }, [name, page]);
  return (
    <header class="top">
      {hosts === undefined ? <span class="brand">{name}</span> : <HostSwitch list={hosts} name={name} />}
      <nav aria-label="Pages">
        {pages.map((each) => (
          <a key={each} href={hashOf(each)} aria-current={each === page ? "page" : undefined}>
            {TITLES[each]}
          </a>
        ))}
      </nav>
      <ConnectionLine />
      <button
        type="button"
        class="quiet"
        title={`Signed in as ${tab.consumer}; scopes: ${tab.scopes.join(", ")}`}
        onClick={() => session.signOut()}
      >
        Sign out
      </button>
    </header>
  );
}

/** Goes to the same page of another machine. */
function HostSwitch({
  list: { current, hosts },
  name,
}: {
  readonly list: HostList;
  readonly name: string;
}): JSX.Element {
  const go = (chosen: string): void => {
    const link = hosts.find(({ host }) => host === chosen);
    if (link !== undefined) location.assign(addressOf(link, location.hash));
  };
  return (
    <span class="brand">
      <select aria-label="Host" value={current} onChange={({ currentTarget }) => go(currentTarget.value)}>
        {hosts.map(({ host }) => (
          <option key={host} value={host}>
            {host}
          </option>
        ))}
      </select>{" "}
      {name}
    </span>
  );
}

function Page({ address: { page, id = "", parameters } }: { readonly address: PageAddress }): JSX.Element {
  if (page === "logs") return <LogPage parameters={parameters} />;
  if (page === "process") return <ProcessPage key={id} id={id} />;
  if (page === "incidents") return <IncidentsPage parameters={parameters} />;
  if (page === "plan") return <PlanPage />;
  if (page === "service") return <ServicePage />;
  const hosts = page === "hosts" ? hostList() : undefined;
  if (hosts !== undefined) return <HostsPage list={hosts} />;
  return <OverviewPage />;
}

/** What the pages show is the past. */
function EndBanner(): JSX.Element | null {
  const { model } = useApp();
  const connection = useObserved(model.connection);
  const updated = useObserved(model.updated);
  if (connection.kind !== "ended") return null;
  return (
    <section class="banner" aria-label="procman has ended">
      <b>procman has ended, and its processes with it.</b> The pages show what was known at{" "}
      {hostTime(updated).slice(11, 19)}. They resume when procman is started again with <code>procman run</code>.
    </section>
  );
}

/** Messages about what was asked for. */
function NoticeList(): JSX.Element {
  const { notices } = useApp();
  const list = useObserved(notices.list);
  return (
    <div class="notices" role="status">
      {list.map(({ key, text, isBad }) => (
        <div key={key} class={isBad ? "notice bad" : "notice"}>
          <p>{text}</p>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => notices.close(key)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

/** Values of processes older than this are called old. Milliseconds. */
const STALE_MS = 15_000;

/** Says whether what is shown is true now. */
function ConnectionLine(): JSX.Element {
  const { model } = useApp();
  const connection = useObserved(model.connection);
  const updated = useObserved(model.updated);
  useNow(1_000);
  const now = Date.now();
  const isStale = updated > 0 && now - updated > STALE_MS;
  const values = `values are ${age(now - updated)} old`;
  const old = updated === 0 ? "" : `; ${values}`;
  if (connection.kind === "lost") {
    const seconds = Math.max(0, Math.ceil((connection.retryAt - now) / 1_000));
    return (
      <span class="connection lost">
        <span role="status">Connection lost</span>, again in {seconds} s{old}
      </span>
    );
  }
  if (connection.kind === "ended")
    return (
      <span class="connection lost">
        <span role="status">procman has ended</span>
        {old}
      </span>
    );
  if (connection.kind === "connecting") return <span class="connection">Connecting …</span>;
  return <span class={isStale ? "connection stale" : "connection live"}>{isStale ? `Slow: ${values}` : "Live"}</span>;
}
