import type postgres from "postgres";
import { onTestFinished } from "vitest";

/** Changes settings until the test that runs has ended; then they have their defaults again. */
export async function setSettings(sql: postgres.Sql, values: Record<string, number>): Promise<void> {
  const defaults = Object.keys(values).map((name) => `${name} = default`);
  onTestFinished(async () => void (await sql.unsafe(`update keyframe_private.settings set ${defaults}`)));
  await sql`update keyframe_private.settings set ${sql(values)}`;
}
