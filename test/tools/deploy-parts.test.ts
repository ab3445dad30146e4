import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { compareMigrations, scheduledJobs, secretsToSet, sha256Hex } from "../../tools/deploy/migrations.ts";
import { readDeploySettings } from "../../tools/deploy/settings.ts";
import { runProgram } from "../../local/stack/supabase-cli.ts";
import { createSupabaseCli, explainCliFailure } from "../../tools/deploy/supabase-cli.ts";
import { createProgress, createSecretKeeper } from "../../tools/deploy/reporting.ts";
import { vaultSql } from "../../tools/deploy/database-stages.ts";
import { secretsStage } from "../../tools/deploy/function-stages.ts";
import { waitForHealth } from "../../tools/deploy/health-stage.ts";
import { PROJECT } from "../support/tools/deploy-platform.ts";
import { hastyClock, silent } from "../support/tools/deploy-scene.ts";

test("migrations here and there → what is pending, an app's own, copied by add, too late, applied with other statements", () => {
  const none = { pending: [], foreign: [], copied: [], tooLate: [], changed: [] };
  const those = (versions: string, digest: string | null = "x", name = (version: string) => `m${version}`) =>
    new Map([...versions].map((version) => [version, { name: name(version), digest }] as const));
  const here = (versions: string) =>
    new Map([...versions].map((version) => [version, { name: `m${version}`, digest: "x" }]));
  expect(compareMigrations(here("12"), those("12"))).toEqual(none);
  expect(compareMigrations(here("12"), those(""))).toEqual({ ...none, pending: ["1", "2"] });
  expect(compareMigrations(here("2"), those("13"))).toEqual({ ...none, pending: ["2"], foreign: ["1", "3"] });
  const copies = those("78", "x", (version) => (version === "7" ? "keyframe_m1" : "keyframe_mine"));
  expect(compareMigrations(here("1"), copies)).toEqual({ ...none, pending: ["1"], copied: ["7"], foreign: ["8"] });
  expect(compareMigrations(here("123"), those("13"))).toEqual({ ...none, pending: ["2"], tooLate: ["2"] });
  expect(compareMigrations(here("12"), those("1", "y"))).toEqual({ ...none, pending: ["2"], changed: ["1"] });
  expect(compareMigrations(here("1"), those("1", null))).toEqual({ ...none, changed: ["1"] });
});

test("the migrations → every cron.schedule in them is found, with its whole statement", async () => {
  const texts = (await readMigrations()).map(({ text }) => text);
  const jobs = scheduledJobs(texts);
  expect(jobs).toHaveLength(texts.join("").match(/^select cron\.schedule\(/gm)?.length ?? 0);
  expect(jobs.length).toBeGreaterThan(3);
  for (const { statement } of jobs) expect(texts.join("")).toContain(`${statement}\n`);
  expect(jobs.map(({ statement }) => statement)).toContain(
    "select cron.schedule('keyframe-sweep', '5 seconds', 'select keyframe_private.sweep()');",
  );
});

test("a job scheduled anew or unscheduled by a later migration → the last word counts", () => {
  const first =
    "select cron.schedule('a', '1 second', 'select 1');\nselect cron.schedule('b', '* * * * *', 'x; ''y''');";
  const second = "select cron.unschedule('a');\nselect cron.schedule('b',\n  '5 seconds', 'select 2');";
  expect(scheduledJobs([first]).map(({ name }) => name)).toEqual(["a", "b"]);
  expect(scheduledJobs([first, second])).toEqual([
    { name: "b", statement: "select cron.schedule('b',\n  '5 seconds', 'select 2');" },
  ]);
});

test("what is printed → shows no secret, and ordinary words", () => {
  const keeper = createSecretKeeper();
  expect(keeper.add("whsec_abcdefgh")).toBe("whsec_abcdefgh");
  keeper.add(undefined);
  keeper.add("a");
  keeper.add("eight ch");
  expect(keeper.hide("a kick with whsec_abcdefgh, whsec_abcdefgh, eight ch!")).toBe("a kick with …, …, …!");
});

test("a program that the deployment starts → has the CLI's login, and neither the functions' secrets nor their settings", async () => {
  const environment = {
    PATH: Deno.env.get("PATH") ?? "",
    HOME: "/home/ada",
    SUPABASE_ACCESS_TOKEN: "sbp_login",
    REPLICATE_API_TOKEN: "r8_of_another_tool",
    KEYFRAME_REPLICATE_API_TOKEN: "r8_secret",
    KEYFRAME_KICK_SECRET: "whsec_secret",
  };
  const print = "console.log(JSON.stringify(Deno.env.toObject()))";
  const ended = await runProgram(Deno.execPath(), ["eval", print], { cwd: "/", environment, env: { PGPASSWORD: "p" } });
  expect(ended).toMatchObject({ code: 0, isTooLate: false });
  const { PATH: _, ...seen } = JSON.parse(ended.stdout);
  expect(seen).toEqual({ HOME: "/home/ada", SUPABASE_ACCESS_TOKEN: "sbp_login", PGPASSWORD: "p" });
});

test("secrets that the project has, as digests in capitals too → only those with another value are set", () => {
  const digests = new Map([
    ["A", sha256Hex("same").toUpperCase()],
    ["B", sha256Hex("other")],
  ]);
  expect(secretsToSet({ A: "same", B: "new", C: "first" }, digests)).toEqual(["B", "C"]);
});

test("the CLI sets some of the secrets only → the stage fails", async () => {
  const environment = { KEYFRAME_REPLICATE_API_TOKEN: "r8_secret", KEYFRAME_CLIENT_URL: "https://film.example.com" };
  const budgets = { user: undefined, service: undefined };
  const given = { project: PROJECT, dryRun: false, budgets } as const;
  const setting = async (count: number) => {
    const cli = createSupabaseCli(PROJECT, {}, silent);
    const { apply } = await secretsStage.plan({
      settings: readDeploySettings(given, environment),
      cli: { ...cli, read: async (_doing, _args, form) => form.parse({ count }) },
      fetch,
      clock: hastyClock(),
      progress: silent,
      keeper: createSecretKeeper(),
      stop: new AbortController().signal,
      found: { secretDigests: new Map(), kickSecret: "whsec_kick" },
    });
    return await apply?.();
  };
  expect(await setting(3)).toBe("set");
  await expect(setting(2)).rejects.toThrow("did not say that it set every secret");
});

test("the Vault's SQL → a quote in a value stays inside it", () => {
  expect(vaultSql("https://x/'); drop table y; --", "whsec_z")).toContain("'https://x/''); drop table y; --'");
});

test.each([
  ["unexpected status 500: oh", "status.supabase.com"],
  ["failed to list secrets: TransportError", "look at your network"],
  ["unexpected list secrets status 429: slow down", "try again in a minute"],
  ["Remote migration versions not found in local migrations directory.", "docs/upgrade.md"],
  ["failed to connect as temp role: password authentication failed", "SUPABASE_DB_URL"],
  ["unexpected deploy status 413: too large", "docs/deploy.md says how to bundle it on this machine"],
  ["unexpected list secrets status 401: expired", "or set a new SUPABASE_ACCESS_TOKEN"],
  ["unexpected config status 403: no", "an owner or administrator of its organization"],
  ["error setting project secrets", "Run the command again in a minute"],
  ["an unknown error", "an unknown error. Correct the cause, then run the command again: finished stages stay."],
])("the CLI fails with %j → that and what to do", (message, remedy) => {
  const stdout = JSON.stringify({ _tag: "Error", error: { code: "X", message } });
  const said = explainCliFailure("trying", "ref", { stdout, stderr: "Target: project ref\n" });
  expect(said).toContain(`Failed while trying. The Supabase CLI said: ${message}`);
  expect(said).toContain(remedy);
});

/** Functions whose answers are as they should be, unless `answers` has others. */
function functionsAt(base: string, answers: Record<string, () => Response | undefined>) {
  const asked: string[] = [];
  const answer: typeof fetch = async (input, init) => {
    init?.signal?.throwIfAborted();
    const name = String(input).slice(base.length + 1);
    asked.push(`${init?.method ?? "GET"} ${name}`);
    const refused = { success: false, error: { code: "unauthorized" } };
    const usual = name === "api/health" ? Response.json({ success: true }) : Response.json(refused, { status: 401 });
    return answers[name]?.() ?? usual;
  };
  return { asked, fetch: answer };
}
const BASE = "https://film.example.com/functions/v1";

test("functions of which one starts late → each is asked once, api for its health, and that one again until it is well", async () => {
  const first = [new Response("starting", { status: 503 })];
  const { asked, fetch } = functionsAt(BASE, { "keyframe-deliver": () => first.pop() });
  await waitForHealth(BASE, { fetch, clock: hastyClock() });
  const deliver = "POST keyframe-deliver";
  const each = ["GET api/health", "POST keyframe-generate", "POST keyframe-replicate-webhook", deliver];
  expect(asked).toEqual([...each, deliver]);
});

test.each<[string, string, Response]>([
  ["is not deployed", "keyframe-deliver", Response.json({ code: "NOT_FOUND" }, { status: 404 })],
  ["is kept by the platform for those with a token", "keyframe-deliver", Response.json({ code: 401 }, { status: 401 })],
  ["cannot reach the database", "api/health", Response.json({ code: "unavailable" }, { status: 503 })],
])("a function that %s → after a minute its name, its last answer and where to look", async (_what, name, answer) => {
  const { fetch } = functionsAt(BASE, { [name]: () => answer.clone() });
  const clock = hastyClock();
  const [slug = ""] = name.split("/");
  const said = `Everything is deployed, .* ${slug}: HTTP ${answer.status} .*→ ${slug} → Logs`;
  await expect(waitForHealth(BASE, { fetch, clock })).rejects.toThrow(new RegExp(said));
  expect(clock.now()).toBeGreaterThan(50_000);
});

test("functions that do not answer at all → no request waits longer than its time", async () => {
  const { fetch } = functionsAt(BASE, {});
  const limits: number[] = [];
  const timeout = (ms: number) => {
    limits.push(ms);
    return AbortSignal.abort();
  };
  const waiting = waitForHealth(BASE, { fetch, clock: { ...hastyClock(), timeout } });
  await expect(waiting).rejects.toThrow("keyframe-generate: no answer within 10 s");
  expect(Math.max(...limits)).toBe(10_000);
});

test("a long wait → says every few seconds what for, and falls silent at its end", async () => {
  vi.useFakeTimers();
  try {
    const lines: string[] = [];
    const work = Promise.withResolvers<string>();
    const waiting = createProgress((line) => lines.push(line)).during("comparing the settings", work.promise);
    await vi.advanceTimersByTimeAsync(12_000);
    work.resolve("done");
    expect(await waiting).toBe("done");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lines.map((line) => line.trim())).toEqual([
      "… comparing the settings, 5 s so far",
      "… comparing the settings, 10 s so far",
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test.each(["docs/deploy.md", "docs/upgrade.md"])(
  "the commands in %s that change a project → need no terminal: each says --yes",
  (path) => {
    const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
    const changing = text.match(
      /npx supabase (config push|db push|secrets (un)?set|functions deploy|migration repair)[^`\n]*/g,
    );
    expect(changing?.length).toBeGreaterThan(1);
    expect(changing?.filter((command) => !command.includes("--yes"))).toEqual([]);
  },
);
