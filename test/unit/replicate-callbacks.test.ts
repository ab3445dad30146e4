import { afterEach, expect, test } from "vitest";
import { type RunningSimulator, type SimulatorOptions, startSimulator } from "../../local/simulator/start-simulator.ts";
import { create, ended, run, startReceiver, until, wire } from "./replicate-test-kit.ts";

let simulator: RunningSimulator;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

async function start(options: SimulatorOptions = {}, statuses: number[] = []) {
  simulator = await startSimulator(options);
  receiver = await startReceiver(simulator.webhookSecret, statuses);
}
afterEach(async () => {
  await simulator.stop();
  await receiver.stop();
});

const completedOnly = () => ({ webhook: receiver.url, webhook_events_filter: ["completed"] });
const arrived = (count: number) => until(() => (receiver.received.length >= count ? receiver.received : null));
const summary = () => receiver.received.map(({ genuine, event }) => `${event.status}${genuine ? "" : " (forged)"}`);

test("no filter → start, logs, output and completed, in order, genuine, the body being the prediction", async () => {
  await start();
  await run(simulator, "a hill"); // starts the drawing worker: a picture that takes half a second sends its logs twice
  const { id } = await wire(await create(simulator, "a lake", { webhook: receiver.url }));
  await until(() => receiver.received.find(({ event }) => event.status === "succeeded") ?? null);
  expect(receiver.received.every(({ genuine }) => genuine)).toBe(true);
  expect(summary()).toEqual(["starting", "processing", "processing", "succeeded"]);
  expect(receiver.received[2]?.event.output).toMatch(/out-0\.png$/);
  const last = receiver.received[3]?.event;
  expect(last).toMatchObject({ id, webhook: receiver.url, error: null, completed_at: expect.any(String) });
  expect(new Set(receiver.received.map(({ messageId }) => messageId)).size).toBe(4);
});

test("filter completed → that one alone, also of a canceled prediction", async () => {
  await start({ runDelayMs: 3_600_000 });
  const created = await wire(await create(simulator, "x", completedOnly()));
  await fetch(created.urls.cancel, { method: "POST", headers: { authorization: `Bearer ${simulator.token}` } });
  await arrived(1);
  expect(summary()).toEqual(["canceled"]);
  // Counted once the receiver's answer is back, which is after it has the message.
  await until(() => simulator.control.state().callbacks.delivered || null);
  expect(simulator.control.state().callbacks).toMatchObject({ sent: 1, delivered: 1 });
});

test("answers 500 and 302 → tried again after each wait with the same webhook-id; the redirect is not followed", async () => {
  await start({ callbackRetryMs: [3_600_000, 3_600_000] }, [500, 302]);
  await run(simulator, "x", completedOnly());
  await arrived(1);
  for (const count of [2, 3]) {
    await until(() => {
      simulator.control.advance(3600);
      return receiver.received.length >= count ? true : null;
    });
  }
  expect(summary()).toEqual(["succeeded", "succeeded", "succeeded"]);
  expect(new Set(receiver.received.map(({ messageId }) => messageId)).size).toBe(1);
  expect(receiver.received.every(({ genuine }) => genuine)).toBe(true);
  // The receiver has it a moment before the simulator has its answer.
  await until(() => (simulator.control.state().callbacks.delivered === 1 ? true : null));
  expect(simulator.control.state().callbacks).toMatchObject({ sent: 3, retried: 2, delivered: 1, given_up: 0 });
});

test("never a 2xx → given up after the last wait", async () => {
  await start({ callbackRetryMs: [1, 1] }, [500, 500, 500]);
  await run(simulator, "x", completedOnly());
  await until(() => (simulator.control.state().callbacks.given_up === 1 ? true : null));
  expect(simulator.control.state().callbacks).toMatchObject({ sent: 3, retried: 2, delivered: 0 });
});

test("nothing listens → the prediction succeeds anyway", async () => {
  await start({ callbackRetryMs: [1] });
  expect((await run(simulator, "x", { webhook: "http://127.0.0.1:9/hook" })).status).toBe("succeeded");
});

test("callback_lost → none is sent", async () => {
  await start();
  await run(simulator, "x [[fault:callback_lost]]", { webhook: receiver.url });
  await run(simulator, "y", completedOnly());
  await arrived(1);
  expect(receiver.received).toHaveLength(1);
  expect(simulator.control.state().callbacks.lost).toBeGreaterThanOrEqual(3);
});

test("callback_doubled → each one twice with one webhook-id", async () => {
  await start();
  await run(simulator, "x [[fault:callback_doubled]]", completedOnly());
  await arrived(2);
  expect(summary()).toEqual(["succeeded", "succeeded"]);
  expect(receiver.received[0]?.messageId).toBe(receiver.received[1]?.messageId);
});

test("callback_reordered → completed first, start last", async () => {
  await start();
  const filter = { webhook: receiver.url, webhook_events_filter: ["start", "output", "completed"] };
  await run(simulator, "x [[fault:callback_reordered]]", filter);
  await arrived(3);
  expect(summary()).toEqual(["succeeded", "processing", "starting"]);
});

test("callback_late → sent only after its time", async () => {
  await start();
  await run(simulator, "x [[fault:callback_late=3000000]]", completedOnly());
  await run(simulator, "y", completedOnly());
  await arrived(1);
  expect(receiver.received.map(({ event }) => event.input.prompt)).toEqual(["y"]);
  simulator.control.advance(3000);
  await arrived(2);
  expect(receiver.received[1]).toMatchObject({ genuine: true, event: { status: "succeeded" } });
});

test("callback_forged → first a failed one with a wrong signature, then the genuine one", async () => {
  await start();
  const { id } = await run(simulator, "x [[fault:callback_forged]]", completedOnly());
  await arrived(2);
  expect(summary()).toEqual(["failed (forged)", "succeeded"]);
  expect((await ended(simulator, id)).status).toBe("succeeded");
});
