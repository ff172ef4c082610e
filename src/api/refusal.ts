/** An error whose answer has headers of its own. */
import { type ErrorCode, ProcmanError } from "../base/errors.ts";

export class Refusal extends ProcmanError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>>) {
    super(code, message);
    this.headers = headers;
  }
}
