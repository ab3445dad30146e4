import { join } from "node:path";
import { removePostgresData } from "../postgres/place-data.ts";

/** Removes a throw-away stack's whole data folder, and what lies elsewhere because the database's user could not reach it. */
export async function removeData(dataDir: string): Promise<void> {
  await removePostgresData(join(dataDir, "postgres"));
  await Deno.remove(dataDir, { recursive: true });
}
