import { existsSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";

/** The version of Deno that the hosted platform's own runtime is compatible with. */
export const HOSTED_DENO = join(PROJECT_ROOT, "node_modules/deno-hosted-linux-x64/deno");

/** Why nothing can be run on it here, if so. */
export const hostedDenoMissing = existsSync(HOSTED_DENO)
  ? undefined
  : `${HOSTED_DENO} is not installed; it exists for Linux on x64 alone`;
