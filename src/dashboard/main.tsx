/** Begins in the browser: takes the code out of the address before anything else, and shows the dashboard. */
import { render } from "preact";
import { DashboardApp } from "./dashboard-app.tsx";
import { enterHosts } from "./model/host-list.ts";
import { signInLinkIn } from "./model/page-address.ts";
import { Session } from "./model/session.ts";

const link = signInLinkIn(location.hash);
if (link !== undefined) history.replaceState(null, "", location.pathname);

const session = new Session(sessionStorage, location.pathname);
if (link !== undefined) {
  void session.exchange(link.code);
  enterHosts(sessionStorage, link, location.pathname);
}

const root = document.getElementById("app");
if (root !== null) render(<DashboardApp session={session} />, root);
