/** Begins in the browser: takes the code out of the address before anything else, and shows the dashboard. */
import { render } from "preact";
import { DashboardApp } from "./dashboard-app.tsx";
import { signInLinkIn } from "./model/page-address.ts";
import { Session } from "./model/session.ts";

const link = signInLinkIn(location.hash);
if (link !== undefined) history.replaceState(null, "", `${location.pathname}${link.page}`);

const session = new Session(sessionStorage, location.pathname);
if (link !== undefined) void session.exchange(link.code);

const root = document.getElementById("app");
if (root !== null) render(<DashboardApp session={session} />, root);
