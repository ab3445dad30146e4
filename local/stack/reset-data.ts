import { join } from "node:path";
import { removePostgresData } from "../postgres/place-data.ts";

const OURS = ["postgres", "storage", "cli-home", "logs", "keys.json"];

/** Throws the data of a stack away; the caller holds the claim on them. Whatever else lies in the folder stays. */
export async function resetData(dataDir: string): Promise<void> {
  await removePostgresData(join(dataDir, "postgres"));
  for (const name of OURS) await Deno.remove(join(dataDir, name), { recursive: true }).catch(ignoreMissing);
  await Deno.mkdir(join(dataDir, "logs"));
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
