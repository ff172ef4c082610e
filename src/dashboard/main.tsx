/** Begins in the browser: takes the code out of the address before anything else, and shows the dashboard. */
import { render } from "preact";
import { DashboardApp } from "./dashboard-app.tsx";
import { codeIn } from "./model/page-address.ts";
import { Session } from "./model/session.ts";

const code = codeIn(location.hash);
if (code !== undefined) history.replaceState(null, "", location.pathname);

const session = new Session(sessionStorage);
if (code !== undefined) void session.exchange(code);

const root = document.getElementById("app");
if (root !== null) render(<DashboardApp session={session} />, root);
