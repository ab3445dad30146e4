import { fileURLToPath } from "node:url";
import { freePort, waitForPort } from "../../../local/network.ts";
import { type BenchProcess, spawnDeno } from "../processes.ts";
import type { BenchStack } from "../stack.ts";

/** The function of function.ts, with the tables and the bucket that it needs. Asked directly, as `api` is. */
export async function openWritten(stack: BenchStack): Promise<BenchProcess & { url: string }> {
  await stack.sql.unsafe(`
    create table public.written_projects (
      id uuid primary key default gen_random_uuid(), owner_id uuid not null references auth.users on delete cascade,
      title text not null, text_prompt text not null, created_at timestamptz not null default now());
    create table public.written_predictions (
      id uuid primary key default gen_random_uuid(), owner_id uuid not null references auth.users on delete cascade,
      project_id uuid not null references public.written_projects on delete cascade, prompt text not null, status text not null,
      provider_id text, path text, created_at timestamptz not null default now());
    create index on public.written_projects (owner_id);
    create index on public.written_predictions (owner_id);
    create index on public.written_predictions (project_id);
    alter table public.written_projects enable row level security;
    alter table public.written_predictions enable row level security;
    create policy own on public.written_projects to authenticated using (owner_id = (select auth.uid()));
    create policy own on public.written_predictions to authenticated using (owner_id = (select auth.uid()));
    grant select, insert on public.written_projects, public.written_predictions to authenticated;
    insert into storage.buckets (id, name, public) values ('written', 'written', false);
    -- The users have the same projects here.
    insert into public.written_projects (id, owner_id, title, text_prompt) select id, owner_id, title, text_prompt from keyframe.projects`);
  const port = freePort();
  const file = fileURLToPath(new URL("function.ts", import.meta.url));
  const environment = { ...(await platformEnvironment(stack, port)), PUBLISHABLE_KEY: stack.keys.publishableKey };
  const process = spawnDeno(["run", "-A", "--cached-only", file], environment);
  await waitForPort(port, process.ended);
  return { ...process, url: `http://127.0.0.1:${port}/written` };
}

/** Of a process that makes first frames on a stack: platform, provider, the default model and its input without the prompt. */
export async function platformEnvironment({ sql, simulator, keys, url }: BenchStack, port: number) {
  if (!simulator) throw new Error("There is no simulator on this stack.");
  const [model] = await sql<{ model: string; fixed: Record<string, unknown> }[]>`
    select m.model, m.fixed from keyframe.models m join keyframe.step_defaults d using (step, model) where step = 'first-frame'`;
  if (!model) throw new Error("There is no default model for first frames.");
  return {
    SUPABASE_URL: url,
    SECRET_KEY: keys.secretKey,
    REPLICATE_URL: `${simulator.url}/v1`,
    REPLICATE_API_TOKEN: keys.replicateToken,
    MODEL: model.model,
    INPUT: JSON.stringify({ ...model.fixed, aspect_ratio: "16:9" }),
    DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`,
  };
}
