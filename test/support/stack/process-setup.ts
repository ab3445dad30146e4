import type { TestProject } from "vitest/node";
import { startFor } from "./global-setup.ts";

/** The same stack with `npm run worker`, by a connection to Postgres, in place of the workers' functions. */
export default (project: TestProject) => startFor(project, "database");
