import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { providerRuns } from "../support/api/provider.ts";
import { expectSoundEnd } from "../support/film/ending.ts";
import { type FilmMaker, newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { answers, hangs } from "../support/receiver/habits.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { insertProjects, register } from "../support/receiver/register.ts";
import { expectSoundDeliveries, isDelivered, letLeaseRunOut, untilStories } from "../support/receiver/story.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { letLeaseRunOut as letTaskLeaseRunOut, untilNobodyLooks } from "../support/stack/restarts.ts";
import {
  endAfterEach,
  signalFunctions,
  startWorkerProcess,
  type WorkerProcess,
} from "../support/stack/worker-process.ts";
import { until } from "../support/until.ts";

// `npm run worker` beside the functions. Processes in their place: `--mode workers`.
let stack: OwnStack;
let loginUrl: string;
beforeAll(async () => {
  stack = await startOwnStack({ workers: "functions" });
  const login = `test_login_${crypto.randomUUID().slice(0, 8)}`;
  await stack.sql.unsafe(`create role ${login} login noinherit password 'geheim' in role service_role`);
  loginUrl = Object.assign(new URL(stack.databaseUrl), { username: login, password: "geheim" }).href;
});
const receivers: FlowReceiver[] = [];
afterEach(async () => {
  signalFunctions(stack, "SIGCONT");
  for (const receiver of receivers.splice(0)) await receiver.close();
  await stack.setRunDelay(0);
});
const ended = endAfterEach(); // before the functions go on
afterAll(() => stack.stop());

async function startProcess(databaseUrl?: string): Promise<WorkerProcess> {
  await untilNobodyLooks(stack.sql);
  const process = ended(await startWorkerProcess(stack, { databaseUrl }));
  await stack.sql`delete from keyframe_private.kicks where id > 0`;
  return process;
}

/** A user with an endpoint at a receiver, and a prompt. */
async function makeScene(): Promise<{ maker: FilmMaker; receiver: FlowReceiver; webhookId: string; prompt: string }> {
  const [receiver, maker] = await Promise.all([startFlowReceiver(answers(200)), newFilmMaker(stack)]);
  receivers.push(receiver);
  return { maker, receiver, prompt: promptWith(), ...(await register(maker, receiver.url)) };
}

const countKicks = async () => (await stack.sql`select from keyframe_private.kicks`).length;

describe.each([
  ["the Data API", () => undefined],
  ["a connection whose login can only act as service_role", () => loginUrl],
])("by %s", (_way, databaseUrl) => {
  test("a worker process, with the functions frozen, makes a film → files stored, events delivered, its health is 200", async () => {
    const process = await startProcess(databaseUrl());
    signalFunctions(stack, "SIGSTOP");
    const { maker, receiver, webhookId } = await makeScene();
    for (const step of ["first-frame", "last-frame", "video"] as const) {
      const made = await maker.start(step);
      expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded" });
      await expectSoundEnd(stack.sql, made);
      expect(process.lines.map((line) => JSON.parse(line))).toContainEqual(
        expect.objectContaining({
          function: "keyframe-generate",
          event: "output_stored",
          predictionId: made.predictionId,
        }),
      );
    }
    await untilStories(stack.sql, webhookId, "its events are delivered", 3, isDelivered);
    await expectSoundDeliveries(stack.sql, webhookId, receiver);
    expect(await process.health()).toEqual({
      status: 200,
      body: { status: "ok", databaseAnsweredSeconds: { generate: expect.any(Number), deliver: expect.any(Number) } },
    });
    expect(process.lines.join()).not.toContain("geheim");
  });

  test("SIGTERM amid a submit and a delivery → both end and are recorded once, exit 0; later work kicks the functions", async () => {
    const process = await startProcess(databaseUrl());
    signalFunctions(stack, "SIGSTOP"); // on a busy machine a late heartbeat would let them take the output
    const { maker, receiver, webhookId } = await makeScene();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    receiver.behave((response) => void released.then(() => response.writeHead(200).end()));
    const prompt = promptWith("output_slow=1500");
    const made = await maker.start("first-frame", { prompt });
    await insertProjects(stack.sql, maker.userId, 1);
    await until("its output is being copied, and the receiver holds a request", async () => {
      const rows = await stack.sql`
        select from keyframe_private.work where subject = ${made.predictionId} and kind = 'store' and state = 'leased'`;
      return rows.length === 1 && receiver.arrivals.length === 1;
    });
    process.kill("SIGTERM");
    await untilNobodyLooks(stack.sql);
    signalFunctions(stack, "SIGCONT");
    release();
    expect(await process.ended).toBe(0);
    expect(process.lines.filter((line) => /work_failed|worker_stopped|call_failed/.test(line))).toEqual([]);
    expect(process.lines.some((line) => line.includes("output_stored"))).toBe(true);
    expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded", attempt: 1 });
    expect(await providerRuns(prompt, stack)).toHaveLength(1);
    await untilStories(stack.sql, webhookId, "both events are delivered", 2, isDelivered);
    const stories = await expectSoundDeliveries(stack.sql, webhookId, receiver);
    expect(stories.map(({ told }) => told)).toEqual([["1 200"], ["1 200"]]);
    expect(receiver.arrivals).toHaveLength(2);
    expect(await countKicks()).toBeGreaterThan(0);
  });

  test("kill -9 of a worker process → new work kicks the functions, which take over its leases when they end", async () => {
    const process = await startProcess(databaseUrl());
    signalFunctions(stack, "SIGSTOP");
    const { maker, receiver, webhookId, prompt } = await makeScene();
    await stack.setRunDelay(60_000);
    const held = await maker.start("first-frame", { prompt });
    await until("its run is on its way", async () => (await providerRuns(prompt, stack)).length === 1);
    process.kill("SIGKILL");
    expect(await process.ended).toBe("SIGKILL");
    // A call of the dead process that still waits in the database would lease what is started meanwhile, for 90 s.
    await untilNobodyLooks(stack.sql);
    await stack.setRunDelay(0);
    await stack.passTimeAtProvider(60);
    await letTaskLeaseRunOut(stack.sql, held.predictionId);
    signalFunctions(stack, "SIGCONT");
    const next = await maker.start("first-frame", { prompt: promptWith() });
    for (const made of [held, next]) expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded" });
    expect(await providerRuns(prompt, stack)).toHaveLength(1);
    await untilStories(stack.sql, webhookId, "both events are delivered", 2, isDelivered);
    await expectSoundDeliveries(stack.sql, webhookId, receiver);
    expect(await countKicks()).toBeGreaterThan(0);
  });
});

test("SIGTERM of a worker process while a receiver hangs → exits at once; the function sends the event after the lease", async () => {
  const process = await startProcess();
  const { maker, receiver, webhookId } = await makeScene();
  receiver.behave(hangs);
  await insertProjects(stack.sql, maker.userId, 1);
  await until("the receiver holds a request", () => receiver.arrivals.length === 1);
  process.kill("SIGTERM");
  await untilNobodyLooks(stack.sql); // for over a second
  process.kill("SIGTERM");
  expect(await process.ended).toBe(130);
  receiver.behave(answers(200));
  await letLeaseRunOut(stack.sql, webhookId);
  await untilStories(stack.sql, webhookId, "its event is delivered", 1, isDelivered);
});

test("SIGTERM while a request to a worker process's health port never ends → exits 0", async () => {
  const process = await startProcess();
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: process.port });
  await connection.write(new TextEncoder().encode("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n"));
  await connection.read(new Uint8Array(1));
  process.kill("SIGTERM");
  expect(await process.ended).toBe(0);
});
