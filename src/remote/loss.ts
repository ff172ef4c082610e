/** What it means that a stream was lost. */
import { ProcmanError } from "../base/errors.ts";

const CUT = ["ECONNRESET", "EPIPE", "ECONNREFUSED"];

/** `ended`: procman has; `again`: its service comes again. Throws what is neither. `isPatient`: a service that is down may be started again. */
export function lossOf(error: unknown, isPatient: boolean): "ended" | "again" {
  const { code = "" } = error as NodeJS.ErrnoException;
  if (!(error instanceof ProcmanError) && CUT.includes(code)) return "again";
  if (code === "no-daemon") return "ended";
  if (code === "service-down" && isPatient) return "again";
  throw error;
}
