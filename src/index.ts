/** Library entry. */
export { type ErrorCode, ProcmanError } from "./base/errors.ts";
export { VERSION } from "./base/version.ts";
export { ConfigurationError } from "./config/problems.ts";
export type { Command, Config, LogSpec, Problem, ProcessSpec } from "./config/spec.ts";
export { type ValidateOptions, validateConfiguration } from "./config/validate.ts";
