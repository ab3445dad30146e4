import { freePort, waitForPort } from "../../local/network.ts";
import { type BenchProcess, spawnPeer } from "./processes.ts";
import type { BenchStack } from "./stack.ts";
import { platformEnvironment } from "./written/open-written.ts";

/** The process of peers/dbos.ts on the same Postgres, with the tables and the bucket that it needs. */
export async function openDbos(stack: BenchStack): Promise<BenchProcess & { url: string }> {
  const { sql, databaseUrl, keys } = stack;
  await sql.unsafe(`
    create schema dbos_app;
    create table dbos_app.frames (
      id uuid primary key, owner_id uuid not null references auth.users on delete cascade,
      project_id uuid not null references keyframe.projects on delete cascade, prompt text not null, status text not null default 'queued',
      provider_id text, path text, sha256 text, created_at timestamptz not null default now());
    create index on dbos_app.frames (owner_id);
    create index on dbos_app.frames (project_id);
    create table dbos_app.events (
      id uuid primary key default gen_random_uuid(), frame_id uuid not null references dbos_app.frames on delete cascade, type text not null,
      created_at timestamptz not null default now(), unique (frame_id, type));
    insert into storage.buckets (id, name, public) values ('dbos', 'dbos', false)`);
  const port = freePort();
  const ownUrl = `http://127.0.0.1:${port}`;
  const process = await spawnPeer("dbos.ts", {
    ...(await platformEnvironment(stack, port)),
    DATABASE_URL: databaseUrl,
    WEBHOOK_SECRET: keys.replicateWebhookSecret,
    OWN_URL: ownUrl,
  });
  await waitForPort(port, process.ended);
  return { ...process, url: ownUrl };
}
