import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { supabaseCli } from "../../../local/stack/supabase-cli.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { listFiles } from "../../../tools/install/source.ts";
import { runProgram } from "./run-command.ts";

export type AppRepository = ReturnType<typeof openApp>;

/** @param parent gets a link to node_modules, from which Deno resolves the functions' packages without downloads */
export async function initApp(parent: string, name: string, env: Record<string, string>): Promise<AppRepository> {
  await symlink(join(PROJECT_ROOT, "node_modules"), join(parent, "node_modules")).catch(() => undefined);
  await mkdir(join(parent, name));
  const app = openApp(join(parent, name), env);
  await app.supabase("init", "--yes");
  return app;
}

/** A copy beside it, which no longer needs the Supabase CLI to begin. */
export async function copyOf({ folder }: AppRepository, name: string): Promise<AppRepository> {
  const copy = join(dirname(folder), name);
  await cp(folder, copy, { recursive: true });
  return openApp(copy, {});
}

/** A repository of an app in a temporary folder, with the real Supabase CLI. */
function openApp(folder: string, env: Record<string, string>) {
  return {
    folder,
    write: async (path: string, text: string) => {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    },
    /** Path → text of every file, without what the CLI keeps for itself. */
    files: async () => {
      const paths = (await listFiles(folder, "supabase")).filter((path) => !path.startsWith("supabase/.temp/"));
      return new Map(
        await Promise.all(paths.map(async (path) => [path, await readFile(join(folder, path), "utf8")] as const)),
      );
    },
    /** Runs the Supabase CLI there. Throws what it printed when it fails. */
    supabase: async (...args: string[]) => {
      const { code, stdout, stderr } = await supabaseCli(args, dirname(folder), { env, project: folder });
      if (code !== 0 || /^WARN/m.test(stderr))
        throw new Error(`supabase ${args[0]} ${args[1] ?? ""}: ${stdout}${stderr}`);
      return stdout;
    },
    /** Runs add or remove. `from` is a checkout or an unpacked package. */
    install: async ([command = "", ...args]: string[], from = PROJECT_ROOT) => {
      const script = join(from, "tools/install.ts");
      const { code, output } = await runProgram(Deno.execPath(), ["run", "-A", script, command, folder, ...args]).ended;
      return { code, said: output };
    },
  };
}

/** Tables, a function with shared code, seeds, a bucket and an exposed schema of the app's own; its migration is of a far future. */
export async function giveOwnThings(app: AppRepository): Promise<void> {
  await app.write(
    "supabase/migrations/20991231235959_films.sql",
    `create table public.projects (id bigint generated always as identity primary key, name text not null);
alter table public.projects enable row level security;
create schema cinema;
create table cinema.halls (id int primary key, name text);
insert into storage.buckets (id, name, public) values ('posters', 'posters', true);
create policy posters_select_all on storage.objects for select using (bucket_id = 'posters');
select cron.schedule('nightly', '0 3 * * *', 'select 1');
`,
  );
  await app.write("supabase/seed.sql", "insert into cinema.halls values (1, 'Lumière');\n");
  await app.write(
    "supabase/functions/_shared/cors.ts",
    'export const cors = { "access-control-allow-origin": "*" };\n',
  );
  await app.write(
    "supabase/functions/mail/index.ts",
    'import { cors } from "../_shared/cors.ts";\n\nDeno.serve(() => new Response("sent", { headers: cors }));\n',
  );
  await app.write("supabase/functions/mail/deno.json", '{ "imports": {} }\n');
  const config = (await app.files()).get("supabase/config.toml") ?? "";
  await app.write(
    "supabase/config.toml",
    `${config.replace('schemas = ["public", "graphql_public"]', 'schemas = [\n  "public", # ours\n  "graphql_public",\n  "cinema",\n]')}
[functions.mail]
verify_jwt = true # only signed-in people send mail
entrypoint = "./functions/mail/index.ts"
import_map = "./functions/mail/deno.json"
`,
  );
}
