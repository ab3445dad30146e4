import { createClient } from "@supabase/supabase-js";
import postgres, { type Sql } from "postgres";
import { vi } from "vitest";
import { bootstrapPlatform } from "../../../local/platform/bootstrap-platform.ts";
import { createPlatform } from "../../../local/platform/create-platform.ts";
import { generateSigningKey } from "../../../local/platform/session-tokens.ts";
import { startPostgres } from "../../../local/postgres/start-postgres.ts";

export const PUBLISHABLE_KEY = "sb_publishable_0123456789abcdefghij";
export const SECRET_KEY = "sb_secret_0123456789abcdefghij";
const LITE_SECRET = "between-the-gateway-and-lite-only-0123456789";

export type TestPlatform = Awaited<ReturnType<typeof startTestPlatform>>;

/** Postgres, the platform's roles and tables, and the gateway on a free port; all of it thrown away by stop(). */
export async function startTestPlatform(acquisitionMs?: number) {
  // lite writes every error of a statement to the console, also those a test asks for.
  const console = vi.spyOn(globalThis.console, "error").mockReturnValue();
  const folder = await Deno.makeTempDir({ prefix: "kf-platform-" });
  await Deno.chmod(folder, 0o755);
  const server = await startPostgres({ dataDir: `${folder}/postgres`, durable: false });
  const admin = connect(server.url);
  await bootstrapPlatform(admin, { postgresPassword: "migrations" });
  const address = new URL(server.url);
  address.username = "postgres";
  address.password = "migrations";
  const migrate = connect(address.href);
  await migrate`create schema keyframe`;
  await migrate`create schema keyframe_worker`;

  const signingKey = await generateSigningKey();
  const platform = Promise.withResolvers<Awaited<ReturnType<typeof createPlatform>>>();
  const http = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) =>
    (await platform.promise).fetch(request),
  );
  const url = `http://127.0.0.1:${http.addr.port}`;
  const options = { databaseUrl: server.url, publicUrl: url, signingKey, storageFolder: `${folder}/storage` };
  const keys = { liteSecret: LITE_SECRET, publishableKey: PUBLISHABLE_KEY, secretKey: SECRET_KEY };
  const pool = acquisitionMs === undefined ? {} : { acquisitionMs };
  platform.resolve(await createPlatform({ ...options, ...keys, ...pool, functions: { away: "http://127.0.0.1:1" } }));

  const client = (key = PUBLISHABLE_KEY) => {
    const auth = { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false };
    return createClient(url, key, { auth });
  };

  const running = {
    url,
    signingKey,
    storageFolder: `${folder}/storage`,
    postgres: server,
    admin,
    migrate,
    client,
    async signedIn() {
      const own = client();
      const email = `${crypto.randomUUID()}@example.com`;
      const { data, error } = await own.auth.signUp({ email, password: "correct horse battery" });
      if (error || !data.session) throw error ?? new Error("no session after sign-up");
      return { client: own, userId: data.session.user.id, token: data.session.access_token };
    },
    async stop(): Promise<void> {
      await http.shutdown();
      await (await platform.promise).close();
      await Promise.all([admin.end({ timeout: 1 }), migrate.end({ timeout: 1 })]);
      await running.postgres.stop();
      await Deno.remove(folder, { recursive: true });
      console.mockRestore();
    },
  };
  return running;
}

function connect(url: string): Sql {
  return postgres(url, { max: 2, onnotice: () => undefined, backoff: () => 0.2 });
}
