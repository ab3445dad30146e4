import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { socketsOf } from "../../lab/chaos/connections.ts";
import { wrongClockCallbacks, wrongClockLog } from "../../lab/chaos/second-process.ts";
import { type SecondProcess, startSecondProcess } from "../../lab/chaos/start-process.ts";
import { removeData } from "../../local/stack/data-folder.ts";
import { type Stack, startStack } from "../../local/stack/start-stack.ts";
import { newFilmMaker } from "../support/film/film-maker.ts";
import { setQuickIntervals } from "../support/stack/quick-settings.ts";
import { connect } from "../support/stack/own-stack.ts";

// Every callback goes to a replicate-webhook whose clock is ten minutes off. It must refuse all, because it cannot distinguish a
// callback of now from one that was kept for ten minutes. Runs end all the same, for they are polled.
let dataDir: string;
let stack: Stack;
let sql: postgres.Sql;
let port: number;
beforeAll(async () => {
  dataDir = await Deno.makeTempDir({ prefix: "keyframe-callbacks-" });
  stack = await startStack({ dataDir, port: 0, durable: false, simulator: { startDelayMs: 0, runDelayMs: 100 } });
  sql = connect(stack.databaseUrl);
  await setQuickIntervals(sql);
  const own = stack.children.get("keyframe-replicate-webhook");
  port = (await socketsOf(own?.pid ?? 0))?.listens[0] ?? 0;
  await own?.stop();
});
afterAll(async () => {
  await sql.end({ timeout: 1 });
  await stack.stop();
  await removeData(dataDir);
});

const filmMaker = () =>
  newFilmMaker({
    ...stack.keys,
    url: stack.url,
    databaseUrl: stack.databaseUrl,
    simulatorUrl: stack.simulator?.url ?? "",
    dataDir,
  });
const callbacksSeen = async () => (await sql`select from keyframe_private.provider_callbacks`).length;

describe.each([
  ["ten minutes ahead", 600_000],
  ["ten minutes behind", -600_000],
] as const)("a replicate-webhook whose clock is %s", (_how, aheadMs) => {
  let other: SecondProcess;
  beforeAll(async () => {
    const clock = { aheadMs, jumps: false };
    other = await startSecondProcess({ stack, dataDir }, "keyframe-replicate-webhook", {
      clock,
      port,
      logFile: wrongClockLog(dataDir),
    });
  });
  afterAll(() => other.stop());

  test("a frame is started → every callback is refused, and it succeeds", async () => {
    const before = (await wrongClockCallbacks(dataDir)).length;
    const maker = await filmMaker();
    const ended = await maker.untilEnded(await maker.start("first-frame"), 30);
    expect(ended.status).toBe("succeeded");
    const came = (await wrongClockCallbacks(dataDir)).slice(before);
    expect(came.length).toBeGreaterThan(0);
    expect(new Set(came.map(({ what, detail }) => `${what}: ${detail}`))).toEqual(new Set(["refused: unauthorized"]));
    expect(await callbacksSeen()).toBe(0);
  });
});

test("its clock is right again → callbacks are taken", async () => {
  const other = await startSecondProcess({ stack, dataDir }, "keyframe-replicate-webhook", { port });
  try {
    const maker = await filmMaker();
    expect((await maker.untilEnded(await maker.start("first-frame"))).status).toBe("succeeded");
    expect(await callbacksSeen()).toBeGreaterThan(0);
  } finally {
    await other.stop();
  }
});
