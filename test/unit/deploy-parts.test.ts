import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { compareMigrations } from "../../local/deploy/compare-migrations.ts";
import { environmentText, withEnvironmentFile } from "../../local/deploy/environment-file.ts";
import { explainCliFailure } from "../../local/deploy/explain-cli-failure.ts";
import { readMigrations } from "../../local/deploy/read-migrations.ts";
import { scheduledJobs } from "../../local/deploy/scheduled-jobs.ts";
import { createSecretKeeper } from "../../local/deploy/secret-keeper.ts";
import { secretsToSet } from "../../local/deploy/secrets-to-set.ts";
import { vaultSql } from "../../local/deploy/vault-sql.ts";
import { waitForHealth } from "../../local/deploy/wait-for-health.ts";

test("migrations here and there → what is pending, what is unknown here, what would come too late", () => {
  const none = { pending: [], unknown: [], tooLate: [] };
  expect(compareMigrations(["1", "2"], ["1", "2"])).toEqual(none);
  expect(compareMigrations(["1", "2"], [])).toEqual({ ...none, pending: ["1", "2"] });
  expect(compareMigrations(["1"], ["1", "2"])).toEqual({ ...none, unknown: ["2"] });
  expect(compareMigrations(["1", "2", "3"], ["1", "3"])).toEqual({ ...none, pending: ["2"], tooLate: ["2"] });
});

test("the migrations → every cron.schedule in them is found, with its whole statement", async () => {
  const texts = (await readMigrations()).map(({ text }) => text);
  const jobs = scheduledJobs(texts);
  expect(jobs).toHaveLength(texts.join("").match(/^select cron\.schedule\(/gm)?.length ?? 0);
  expect(jobs.length).toBeGreaterThan(3);
  for (const { statement } of jobs) expect(texts.join("")).toContain(`${statement}\n`);
  expect(jobs.map(({ statement }) => statement)).toContain(
    "select cron.schedule('keyframe-sweep', '5 seconds', 'select private.sweep()');",
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

test("secrets of a project → those set that it lacks or has otherwise", async () => {
  // The SHA-256 of "abc", as the platform lists it.
  const digests = new Map([
    ["SAME", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    ["OTHER", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  ]);
  expect(await secretsToSet({ SAME: "abc", OTHER: "abd", NEW: "abc" }, digests)).toEqual(["OTHER", "NEW"]);
});

test("an .env file → readable by nobody else while it is used, gone afterwards, also after a failure", async () => {
  let path = "";
  const failing = withEnvironmentFile({ A: "b#c $D" }, async (file) => {
    path = file;
    expect(readFileSync(file, "utf8")).toBe("A='b#c $D'\n");
    if (Deno.build.os !== "windows") expect((Deno.statSync(file).mode ?? 0) & 0o077).toBe(0);
    throw new Error("the command failed");
  });
  await expect(failing).rejects.toThrow("the command failed");
  expect(() => readdirSync(path)).toThrow("ENOENT");
});

test.each(["it's", "two\nlines"])("a secret %j that no .env file can carry → refused by its name", (value) => {
  expect(() => environmentText({ KEYFRAME_JWT_SECRET: value })).toThrow("KEYFRAME_JWT_SECRET may hold neither");
});

test("what is printed → shows no secret, and ordinary words", () => {
  const keeper = createSecretKeeper();
  expect(keeper.add("whsec_abcdefgh")).toBe("whsec_abcdefgh");
  keeper.add(undefined);
  keeper.add("a");
  expect(keeper.hide("a kick with whsec_abcdefgh, whsec_abcdefgh!")).toBe("a kick with …, …!");
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
  ["something nobody has seen", "run the command again"],
])("the CLI fails with %j → that and what to do", (message, remedy) => {
  const stdout = JSON.stringify({ _tag: "Error", error: { code: "X", message } });
  const said = explainCliFailure("trying", "ref", { stdout, stderr: "Target: project ref\n" });
  expect(said).toContain(`Failed while trying. The Supabase CLI said: ${message}`);
  expect(said).toContain(remedy);
});

test("the API answers late → it is asked again until it is well", async () => {
  const answers = [new Response("starting", { status: 503 }), Response.json({ success: true })];
  const pauses: number[] = [];
  await waitForHealth("https://film.example.com/health", {
    fetch: async () => answers.shift() ?? Response.error(),
    sleep: async (ms) => void pauses.push(ms),
  });
  expect(pauses).toEqual([2000]);
});

test("the API never answers well → its last answer and where to look", async () => {
  let asked = 0;
  const waiting = waitForHealth("https://film.example.com/health", {
    fetch: async () => {
      asked += 1;
      return new Response('{"success":false,"error":{"code":"unavailable"}}', { status: 503 });
    },
    sleep: async () => undefined,
  });
  await expect(waiting).rejects.toThrow(/Everything is deployed, but .*HTTP 503 .*unavailable.*Logs/);
  expect(asked).toBe(15);
});
