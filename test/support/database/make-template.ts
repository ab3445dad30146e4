import { join } from "node:path";
import { installExtensions } from "../../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../../local/platform/bootstrap-platform.ts";
import { onServer } from "../../../local/postgres/on-server.ts";
import { applyMigrations } from "../../../local/stack/apply-migrations.ts";
import { migrationUrl } from "../../../local/stack/open-database.ts";

/**
 * Makes a migrated database that tests clone. Its extensions are stand-ins: workers of the real ones would hold
 * connections to it, and a database that somebody is connected to cannot be cloned. test/conformance compares the two.
 */
export async function makeTemplate(
  superuserUrl: string,
  postgresPassword: string,
  dataDir: string,
): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `keyframe_template_${crypto.randomUUID().slice(0, 8)}`;
  await onServer(superuserUrl, (sql) => sql.unsafe(`create database ${name}`));
  const url = new URL(superuserUrl);
  url.pathname = `/${name}`;
  await onServer(url.href, async (sql) => {
    await bootstrapPlatform(sql, { postgresPassword });
    await installExtensions(sql, { useReal: false });
  });
  await applyMigrations(await migrationUrl(url.href, postgresPassword), join(dataDir, "cli-home"));
  return {
    url: url.href,
    drop: () =>
      onServer(superuserUrl, async (sql) => {
        const clones = await sql<
          { datname: string }[]
        >`select datname from pg_database where starts_with(datname, ${name})`;
        for (const { datname } of clones) await sql.unsafe(`drop database ${datname} with (force)`);
      }),
  };
}
