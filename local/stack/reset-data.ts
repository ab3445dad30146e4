import { join } from "node:path";
import { removePostgresData } from "../postgres/place-data.ts";
import type { StackOptions } from "./stack-types.ts";

const OURS = ["postgres", "storage", "cli-home", "logs", "keys.json"];

/** Throws the data of a stack away. Only what a stack made is removed, whatever else lies in the folder. */
export async function resetData({ dataDir, databaseUrl }: StackOptions): Promise<void> {
  if (databaseUrl !== undefined) {
    throw new Error("--reset does not empty the Postgres of KEYFRAME_DATABASE_URL: create its database anew yourself.");
  }
  await removePostgresData(join(dataDir, "postgres"));
  for (const name of OURS) await Deno.remove(join(dataDir, name), { recursive: true }).catch(ignoreMissing);
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
