import { expect, test } from "vitest";
import { DatabaseError } from "../../../shared/platform/call-database.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { createSettingsCheck, type Connection, WrongSetting } from "../../../worker/check-settings.ts";

// Processes with wrong settings: test/faults/worker-process-start.test.ts. Here is what they cannot be brought to.
const ADDRESS = "https://ref.supabase.co";
const MACHINE_NOW = Date.parse("2026-11-29T12:00:00Z");
const FITS = {
  id: "1 16384",
  now: new Date(MACHINE_NOW).toISOString(),
  address: ADDRESS,
  version: "0.1.0",
  outdated: null,
};
const fail = (status: number | null, code: string, cause?: string) => {
  throw new DatabaseError("describe_database", status, code, cause);
};

/** A check of connections that answer so, in turn and the last for good; the signal aborts at the tenth pause. */
function checkOf(...answers: [Connection["setting"], ...(() => object)[]][]) {
  const lines: Record<string, unknown>[] = [];
  const end = new AbortController();
  const pauses: number[] = [];
  const connections = answers.map(([setting, ...turns]) => ({
    setting,
    call: async () => (turns.length > 1 ? turns.shift() : turns[0])?.(),
  }));
  const wait = async (ms: number) => {
    if (pauses.push(ms) === 10) end.abort();
  };
  const log = createLog({}, (line) => void lines.push(JSON.parse(line)));
  return {
    ...createSettingsCheck(connections, ADDRESS, log, { wait, machineNow: () => MACHINE_NOW }),
    lines,
    signal: end.signal,
    pauses,
  };
}

test.each<[string, () => object, RegExp]>([
  ["Supabase's pooler without a ref", () => fail(null, "XX000"), /code XX000\. Supabase's pooler .*<login>\.<ref>/],
  [
    "PgBouncer, for whatever reason",
    () => fail(null, "08P01", "SASL authentication failed"),
    /because of SASL authentication failed\. The pooler refused\. .*password/,
  ],
  ["no connection left", () => fail(null, "53300"), /code 53300\. Postgres has no free connection/],
  ["a server that starts", () => fail(null, "57P03"), /code 57P03\. Postgres is starting/],
  ["no host", () => fail(null, "", "ENOTFOUND"), /ENOTFOUND\. The host does not exist\. A paused project has none/],
])("%s → it waits, and says why", async (_what, answer, says) => {
  const { untilPassed, lines, signal } = checkOf(["SUPABASE_DB_URL", answer]);
  expect(await untilPassed(signal)).toBe(false);
  expect(lines[0]).toMatchObject({
    event: "worker_waits",
    setting: "SUPABASE_DB_URL",
    reason: expect.stringMatching(says),
  });
});

test("a token from the future, or a gateway's 502, at the start → the process waits until it passes", async () => {
  const turns = [() => fail(401, "PGRST303"), () => fail(502, ""), () => FITS];
  const { untilPassed, lines, signal } = checkOf(["SUPABASE_URL", ...turns]);
  expect(await untilPassed(signal)).toBe(true);
  expect(lines).toMatchObject([{ setting: "SUPABASE_URL" }, { setting: "SUPABASE_URL" }]);
});

test("a machine's clock is ten minutes ahead → the time is the database's, and it is logged once", async () => {
  const behind = { ...FITS, now: new Date(MACHINE_NOW - 600_000).toISOString() };
  const { untilPassed, watch, now, signal, lines } = checkOf(["SUPABASE_URL", () => behind]);
  expect(await untilPassed(signal)).toBe(true);
  await watch(signal);
  expect(now()).toBe(MACHINE_NOW - 600_000);
  expect(lines).toMatchObject([{ level: "warn", event: "clock_differs", aheadSeconds: 600 }]);
});

test("Postgres restarts between the two checks of a start → both are made again", async () => {
  const { untilPassed, signal } = checkOf(
    ["SUPABASE_DB_URL", () => FITS, () => ({ ...FITS, id: "2 16384" })],
    ["SUPABASE_URL", () => ({ ...FITS, id: "2 16384" })],
  );
  expect(await untilPassed(signal)).toBe(true);
});

test.each([
  ["database", /^schema_outdated: the database has 0\.1\.0, .*\. Apply the migrations of /],
  ["process", /^process_outdated: the database has 0\.1\.0, .*\. Run npm run worker in a checkout of 0\.1\.0\.$/],
])("a %s that is too old → says what to upgrade", async (outdated, says) => {
  const { untilPassed, signal } = checkOf(["SUPABASE_URL", () => ({ ...FITS, outdated })]);
  await expect(untilPassed(signal)).rejects.toThrow(says);
});

test("a key revoked while the process runs → refused three times, the process ends; Postgres away meanwhile → no effect", async () => {
  const { watch, signal, pauses } = checkOf(
    ["SUPABASE_DB_URL", () => fail(null, "57P03"), () => FITS],
    ["SUPABASE_URL", () => FITS, () => fail(401, "")],
  );
  await expect(watch(signal)).rejects.toThrow(WrongSetting);
  expect(pauses).toEqual([60_000, 60_000, 20_000, 20_000]);
});

test("a restarting gateway answers 404, 401 or nothing for a moment → the process goes on, and logs it", async () => {
  const restart = [() => fail(404, ""), () => fail(401, ""), () => fail(502, "")];
  const { watch, signal, lines } = checkOf(["SUPABASE_URL", ...restart, ...restart, () => FITS]);
  await watch(signal);
  expect(lines.map(({ event, reason }) => `${event}: ${reason}`)).toEqual([
    ...[expect.stringMatching(/^setting_refused: SUPABASE_URL: .* 404/), expect.stringContaining("status 401")],
    ...[expect.stringContaining("404"), expect.stringContaining("status 401")],
  ]);
});
