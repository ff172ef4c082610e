/** The engine of `linear-expression.ts`, in one file for all of procman's bundles. */
export { RE2JS } from "re2js";
