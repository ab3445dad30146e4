import { Buffer } from "node:buffer";
import { join } from "node:path";
import { createClient } from "@supabase/supabase-js";
import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { buildDashboard, DASHBOARD_FOLDER } from "../../local/stack/build-dashboard.ts";
import { loadStackKeys, type StackKeys } from "../../local/stack/stack-keys.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { drawReferencePhoto } from "../../local/simulator/draw/picture.ts";
import { createdKey } from "../../shared/contract/keys.ts";
import { uploadedReferenceImage } from "../../shared/contract/predictions.ts";
import { webhookSecretAnswer } from "../../shared/contract/webhooks.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { register } from "../support/receiver/register.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// A whole film with a failure, a refused request of every kind and a webhook that is refused once; then everything that was
// written down anywhere is searched for what must not be there.

type Canary = {
  word: string;
  /** Columns as schema.table.column. Logs, the queue of requests and answers are never among them. */
  allowed?: string[];
};

type Find = { canary: string; where: string };

/**
 * Keeps every request that is ever queued for pg_net in security_watch.requests, because the queue deletes what it has sent.
 * As a superuser, before anything is queued.
 */
async function keepQueuedRequests(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create schema security_watch;
    create table security_watch.requests (like net.http_request_queue);
    create function security_watch.keep() returns trigger language plpgsql security definer set search_path = '' as $$
    begin
      insert into security_watch.requests select new.*;
      return null;
    end $$;
    create trigger keep_queued after insert on net.http_request_queue for each row execute function security_watch.keep()`);
}

/** Looks through every column of every table of a database, bytes as text too, and returns where each canary is. */
async function searchTables(sql: postgres.Sql, canaries: Record<string, Canary>): Promise<Record<string, string[]>> {
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema') order by 1`;
  const found = new Map(Object.keys(canaries).map((canary) => [canary, new Set<string>()]));
  for (const { name } of tables) {
    for (const row of await sql.unsafe<Record<string, unknown>[]>(`select * from ${name}`)) {
      for (const [column, value] of Object.entries(row)) {
        const text = asText(value);
        for (const [canary, { word }] of Object.entries(canaries)) {
          if (text.includes(word)) found.get(canary)?.add(`${name}.${column}`);
        }
      }
    }
  }
  return Object.fromEntries([...found].map(([canary, places]) => [canary, [...places]]));
}

function asText(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function searchFiles(folder: string, words: Record<string, string | RegExp>, skip: (path: string) => boolean): Find[] {
  const found: Find[] = [];
  const walk = (path: string) => {
    for (const { name, isDirectory, isFile } of Deno.readDirSync(`${folder}/${path}`)) {
      const below = path === "" ? name : `${path}/${name}`;
      if (skip(below)) continue;
      if (isDirectory) walk(below);
      if (!isFile) continue;
      const text = Buffer.from(Deno.readFileSync(`${folder}/${below}`)).toString("latin1");
      for (const [canary, word] of Object.entries(words))
        if (typeof word === "string" ? text.includes(word) : word.test(text)) found.push({ canary, where: below });
    }
  };
  walk("");
  return found;
}

let stack: OwnStack;
let keys: StackKeys;
let receiver: FlowReceiver;
let canaries: Record<string, Canary>;
const answers: string[] = [];
beforeAll(async () => {
  stack = await startOwnStack({ ownServer: true }); // its log is searched, too
  keys = await loadStackKeys(stack.dataDir);
  await keepQueuedRequests(stack.sql);
  receiver = await startFlowReceiver((response, turn) => {
    response.writeHead(turn === 1 ? 500 : 204).end(turn === 1 ? "not now" : undefined);
  });
  canaries = await playTheFilm();
}, 300_000);
afterAll(async () => {
  await receiver?.close();
  await stack?.stop();
});

const word = () => `canary${crypto.randomUUID().replaceAll("-", "")}`;

async function playTheFilm(): Promise<Record<string, Canary>> {
  const maker = await newFilmMaker(stack);
  const [title, prompt, description, key, path, agent] = [word(), word(), word(), word(), word(), word()];
  const note = word();
  const webhook = await register(maker, `${receiver.url}/${path}?token=${path}`, { description: note });
  const { secret: second } = await maker.call(
    webhookSecretAnswer,
    "POST",
    `/api/webhooks/${webhook.webhookId}/secret/rotate`,
    {},
  );
  await maker.call(webhookSecretAnswer, "GET", `/api/webhooks/${webhook.webhookId}/secret`);

  const { key: userKey } = await maker.call(createdKey, "POST", "/api/keys", { name: "A script", may: "read" });
  await useKey(userKey);

  const created = await send(
    maker.accessToken,
    "/api/projects",
    { title, textPrompt: prompt, description },
    { "idempotency-key": key, "user-agent": agent },
  );
  const { projectId } = z.object({ data: z.object({ projectId: z.string() }) }).parse(JSON.parse(created)).data;
  const photo = drawReferencePhoto(projectId);
  const { referenceImagePath } = await maker.call(
    uploadedReferenceImage,
    "POST",
    "/api/projects/reference-images",
    photo,
  );
  const make = async (step: "first-frame" | "last-frame" | "video", body: Record<string, unknown>) =>
    await maker.untilEnded(await maker.start(step, body), 60);
  const [first, , failed] = await Promise.all([
    make("first-frame", { referenceImagePath, prompt: `${prompt} ${promptWith()}` }),
    make("last-frame", { prompt: `${prompt} ${promptWith()}` }),
    make("first-frame", { prompt: `${prompt} ${promptWith("failed")}` }),
  ]);
  const video = await make("video", { prompt: `${prompt} ${promptWith()}`, durationSeconds: 5 });
  expect([first.status, video.status, failed.status]).toEqual(["succeeded", "succeeded", "failed"]);

  await makeMistakes(maker.accessToken, maker.projectId, prompt);
  const params = { name: "create_project", arguments: { title: "By an agent", textPrompt: prompt } };
  await send(maker.accessToken, "/keyframe-mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const password = word();
  const refresh = await signInOnce(password);
  await until("every event has arrived", async () => {
    const [row] = await stack.sql<{ open: number }[]>`
      select count(*)::int as open from keyframe.webhook_deliveries where status <> 'delivered'`;
    return row?.open === 0;
  });
  expect(receiver.arrivals.length).toBeGreaterThan(4);

  const [run] = await stack.sql<{ url: string }[]>`
    select provider_output_url as url from keyframe.predictions where id = ${video.predictionId}`;
  const words = [
    "keyframe.projects.title",
    "keyframe_private.idempotency_keys.answer",
    "keyframe.webhook_events.payload",
  ];
  return {
    title: { word: title, allowed: words },
    description: { word: description, allowed: ["keyframe.projects.description", ...words] },
    prompt: {
      word: prompt,
      allowed: ["keyframe.projects.text_prompt", "keyframe.predictions.input", ...words],
    },
    "Idempotency-Key": { word: key, allowed: ["keyframe_private.idempotency_keys.key"] },
    "the receiver's own address": { word: path, allowed: ["keyframe.webhook_endpoints.url"] },
    "the endpoint's description": { word: note, allowed: ["keyframe.webhook_endpoints.description"] },
    "the caller's program": { word: agent, allowed: [] },
    "a password": { word: password },
    "a refresh token": { word: refresh, allowed: ["auth.refresh_tokens.token"] },
    "a session token": { word: maker.accessToken },
    "a session token's signature": { word: maker.accessToken.split(".")[2] ?? "" },
    "the address of an output at the provider": {
      word: run?.url ?? "",
      allowed: ["keyframe.predictions.provider_output_url"],
    },
    "a signed address": { word: new URL(video.output?.url ?? "").searchParams.get("token") ?? "" },
    "a user's key": { word: userKey },
    "the secret of a user's key": { word: userKey.slice("kf_0123456789abcdef".length) },
    "a webhook secret": { word: webhook.secret },
    "a webhook secret without its beginning": { word: webhook.secret.slice("whsec_".length) },
    "a rotated webhook secret": { word: second.slice("whsec_".length) },
    ...stackSecrets(),
  };
}

function stackSecrets(): Record<string, Canary> {
  const { secretKey, kickSecret, replicateToken, replicateWebhookSecret, liteJwtSecret, postgresPassword } = keys;
  return {
    "the secret key": { word: secretKey },
    "the secret of kicks": { word: kickSecret.slice("whsec_".length) },
    "the provider's token": { word: replicateToken },
    "the provider's webhook secret": { word: replicateWebhookSecret.slice("whsec_".length) },
    "the secret of the local Auth": { word: liteJwtSecret },
    "the signing key": { word: keys.signingKey.d ?? "" },
    "the database's password": { word: postgresPassword },
  };
}

async function send(token: string, path: string, json: unknown, headers: Record<string, string> = {}, method = "POST") {
  const response = await fetch(`${stack.url}/functions/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      "content-profile": "keyframe",
      "content-type": "application/json",
      ...headers,
    },
    ...(method === "GET" ? {} : { body: typeof json === "string" ? json : JSON.stringify(json) }),
  });
  const text = await response.text();
  answers.push(text);
  return text;
}

/** One refusal of every kind that quotes or could quote what was sent. */
async function makeMistakes(token: string, projectId: string, prompt: string): Promise<void> {
  const first = "/api/projects/generate/first-frame";
  await send(token, "/api/projects", `{"title":"${prompt}"`);
  await send(token, "/api/projects", { title: prompt.repeat(20), textPrompt: prompt });
  await send(token, "/api/projects", { title: "a", textPrompt: prompt, [prompt]: 1 });
  await send(token, first, { projectId, prompt, referenceImagePath: `projects/${prompt}.png` });
  await send(token, first, { projectId: crypto.randomUUID(), prompt });
  await send(token, `/api/${prompt}`, null, {}, "GET");
  await send(token, `/api/projects?cursor=${prompt}`, null, {}, "GET");
  await send(`${token}x`, "/api/projects", { title: prompt });
  await send(keys.secretKey, first, { projectId, prompt });
  for (const name of ["keyframe-generate", "keyframe-deliver", "keyframe-replicate-webhook?prediction=1&attempt=1"]) {
    await send(
      keys.secretKey,
      `/${name}`,
      { prompt },
      { apikey: keys.secretKey, "webhook-signature": `v1,${keys.kickSecret}` },
    );
  }
  const rest = {
    apikey: keys.publishableKey,
    authorization: `Bearer ${token}`,
    "content-profile": "keyframe",
    "content-type": "application/json",
  };
  for (const [path, body] of [
    ["/rest/v1/projects", { title: prompt, text_prompt: prompt, owner_id: crypto.randomUUID() }],
    ["/rest/v1/predictions", { input: { prompt }, project_id: crypto.randomUUID(), step: "first-frame" }],
    [
      "/rest/v1/predictions",
      { input: { prompt, [prompt]: 1, resolution: prompt }, project_id: projectId, step: "first-frame" },
    ],
    [
      "/rest/v1/predictions",
      { input: { prompt: prompt.repeat(300), resolution: prompt }, project_id: projectId, step: "first-frame" },
    ],
    ["/rest/v1/rpc/start_prediction", { project_id: crypto.randomUUID(), step: "first-frame", input: { prompt } }],
    [
      "/rest/v1/rpc/start_prediction",
      { project_id: projectId, step: "first-frame", input: { negativePrompt: prompt } },
    ],
    ["/rest/v1/rpc/start_prediction", { project_id: projectId, step: "first-frame", model: prompt }],
    ["/rest/v1/rpc/acquire_token", { route_class: prompt }],
    ["/auth/v1/token?grant_type=password", { email: "nobody@keyframe.local", password: prompt }],
  ] as const) {
    const response = await fetch(stack.url + path, { method: "POST", headers: rest, body: JSON.stringify(body) });
    answers.push(await response.text());
  }
}

async function useKey(key: string): Promise<void> {
  expect(await send(key, "/api/projects", null, {}, "GET")).toContain('"success":true');
  for (const wrong of [`${key}0`, key.slice(0, -1), `${key}.a.b`]) await send(wrong, "/api/projects", { title: "a" });
  await send(key, "/api/projects", { title: key, textPrompt: "" });
  await send(key, "/keyframe-mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" });
  await send("", "/api/projects", null, { authorization: "", apikey: key }, "GET");
  for (const at of ["/rest/v1/projects", "/storage/v1/object/projects/x.png", "/auth/v1/user"]) {
    const headers = { apikey: keys.publishableKey, authorization: `Bearer ${key}` };
    answers.push(await (await fetch(stack.url + at, { headers })).text());
  }
}

async function signInOnce(password: string): Promise<string> {
  const client = createClient(stack.url, stack.publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
  });
  const email = `${crypto.randomUUID()}@keyframe.local`;
  await client.auth.signUp({ email, password });
  const { data } = await client.auth.signInWithPassword({ email, password });
  return data.session?.refresh_token ?? "";
}

const words = () => Object.fromEntries(Object.entries(canaries).map(([name, canary]) => [name, canary.word]));
function expectNoSecret(where: string, text: string): void {
  for (const [name, { word }] of Object.entries(stackSecrets())) {
    expect([where, name, text.includes(word)]).toEqual([where, name, false]);
  }
}

test("each secret of the stack → is in the tables where it belongs, and in no other table, queue or answer", async () => {
  const [kept] = await stack.sql<{ requests: number }[]>`select count(*)::int as requests from security_watch.requests`;
  expect(kept?.requests).toBeGreaterThan(1);
  const found = await searchTables(stack.sql, canaries);
  for (const [name, { word: text, allowed = [] }] of Object.entries(canaries)) {
    expect([name, text.length > 11]).toEqual([name, true]);
    const places = found[name] ?? [];
    expect([name, places.filter((place) => !allowed.includes(place))]).toEqual([name, []]);
    expect([name, places.length > 0]).toEqual([name, allowed.length > 0]);
  }
});

test("the queue of requests → holds kicks with an id, a time and a signature, and no other credential", async () => {
  const rows = await stack.sql<{ url: string; headers: Record<string, string>; body: string }[]>`
    select distinct url, headers, convert_from(body, 'UTF8') as body from security_watch.requests`;
  for (const { url, headers, body } of rows) {
    expect(url).toMatch(/\/functions\/v1\/keyframe-(generate|deliver)$/);
    expect(Object.keys(headers).toSorted()).toEqual([
      "Content-Type",
      "webhook-id",
      "webhook-signature",
      "webhook-timestamp",
    ]);
    expect(body).toBe("{}");
  }
});

test("the logs of every process, and all other files of the stack → hold none of its secrets", () => {
  const logs = [...Deno.readDirSync(join(stack.dataDir, "logs"))].map(({ name }) => name);
  expect(logs).toEqual(
    expect.arrayContaining([
      ...["api.log", "keyframe-deliver.log", "keyframe-generate.log", "keyframe-mcp.log"],
      ...["gateway.log", "scheduler.log"],
    ]),
  );
  // The keys themselves, the database's own files, and the pictures and films.
  const skip = (path: string) => /^(keys\.json|postgres|storage)(\/|$)/.test(path);
  expect(searchFiles(stack.dataDir, words(), skip)).toEqual([]);
  // And what is skipped holds the keys: the search finds what is there.
  expect(searchFiles(stack.dataDir, { key: keys.secretKey }, (path) => /^(postgres|storage)/.test(path))).toEqual([
    { canary: "key", where: "keys.json" },
  ]);
});

test.runIf(Deno.build.os !== "windows")("the file of the keys → can be read by its owner only", async () => {
  expect(((await Deno.stat(join(stack.dataDir, "keys.json"))).mode ?? 0) & 0o077).toBe(0);
});

test("the answers to wrong requests → have no secret of the stack, no statement, no stack trace", () => {
  expect(answers.length).toBeGreaterThan(15);
  for (const answer of answers) {
    expectNoSecret("an answer", answer);
    // Our statements name the schema of each table.
    expect(answer).not.toMatch(
      /\\n\s+at |\b(from|into|update|join) "?(keyframe|auth|vault|net|cron)\w*"?\.|postgres(ql)?:\/\//i,
    );
  }
});

test("the processes' arguments, which every user of the machine can read → no secret", async () => {
  const pids = [...stack.running.children.values()].map(({ pid }) => pid);
  const { stdout } = await new Deno.Command("ps", { args: ["-ww", "-o", "args=", "-p", pids.join()] }).output();
  const text = new TextDecoder().decode(stdout);
  expect(text).toContain("supabase/functions/api/index.ts");
  expectNoSecret("ps", text);
});

describe("public files and answers", () => {
  test("the dashboard's files → no secret, no key except in config.json, no source map", async () => {
    await buildDashboard();
    expect(searchFiles(DASHBOARD_FOLDER, words(), () => false)).toEqual([]);
    const shapes = {
      "a secret key": /sb_secret_\w{20}/,
      "a provider's token": /\br8_\w{37}/,
      "a secret": /whsec_[\w+/]{30}/,
    };
    expect(searchFiles(DASHBOARD_FOLDER, shapes, () => false)).toEqual([]);
    const built = searchFiles(DASHBOARD_FOLDER, { html: "<!doctype html>" }, () => false);
    expect(built.map(({ where }) => where)).toContain("index.html");
    expect(searchFiles(DASHBOARD_FOLDER, { map: "sourceMappingURL=" }, () => false)).toEqual([]);
  });

  test("openapi.json, health and the stack's own pages → no secret", async () => {
    const api = "/functions/v1/api";
    for (const path of [`${api}/openapi.json`, `${api}/health`, "/", "/docs", "/auth/v1/.well-known/jwks.json"]) {
      expectNoSecret(path, await (await fetch(stack.url + path)).text());
    }
  });

  test("the files of this repository → nothing that looks like a real key", () => {
    const looksReal =
      /\br8_[A-Za-z0-9]{37}\b|\bsbp_[0-9a-f]{40}\b|\bsb_secret_(?!0{8})[A-Za-z0-9_-]{22,}\b|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{20,}\.eyJ[\w-]{40,}\.[\w-]{20,}/;
    const skip = (path: string) =>
      /(^|\/)(node_modules|\.git|\.keyframe|dist|coverage)$|^(functions|migrations)$/.test(path);
    expect(searchFiles(PROJECT_ROOT, { "a real key": looksReal }, skip)).toEqual([]);
  });
});
