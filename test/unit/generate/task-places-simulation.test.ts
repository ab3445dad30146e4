import { describe, expect, test } from "vitest";
import { quantile } from "../../../lab/bench/measure.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { createWorker } from "../../../shared/worker/worker.ts";
import { createTaskPlaces, type Room } from "../../../supabase/functions/keyframe-generate/tasks/task-places.ts";
import { GENERATE_LIMITS, GENERATE_PLACES } from "../../../supabase/functions/keyframe-generate/tasks/work.ts";
import { makeClock } from "../../support/worker-clock.ts";

// The worker of generate over a queue in memory, in virtual time: how long the tasks of innocent owners wait while others' hang.

type Waiting = { owner: string; resource: string; ms: number; hangsFrom: number; due: number };

/** As choose_due (SQL) chooses. */
function choose(due: Waiting[], most: number, room: Room): Waiting[] {
  const roomOf = (resource: string) =>
    room[resource] ?? (resource.includes(" ") ? room[" "] : room[""]) ?? { all: 0, new: 0, each: 0, owners: {} };
  const byResource = [...Map.groupBy(due, ({ resource }) => resource)].filter(([resource]) => roomOf(resource).all > 0);
  const chosen: Waiting[] = [];
  for (const [at, [resource, waiting]] of byResource.entries()) {
    const { all, new: newRoom, each, owners } = roomOf(resource);
    const free = most - chosen.length;
    const others = byResource.length - at - 1;
    const part = Math.min(all, Math.max(Math.ceil(free / (others + 1)), free - 2 * others));
    let [taken, newLeft] = [0, newRoom];
    for (const task of waiting) {
      const isNamed = task.owner in owners;
      const ofOwner = chosen.filter(({ owner }) => owner === task.owner).length;
      if (ofOwner >= (owners[task.owner] ?? each) || (!isNamed && newLeft <= 0)) continue;
      if (taken === part) break;
      taken += 1;
      if (!isNamed) newLeft -= 1;
      chosen.push(task);
    }
  }
  return chosen;
}

/** `hangsFrom`: until then its tasks take 300 ms. */
type Load = { owners: number; each: number; resource: string; ms: number; hangsFrom?: number };

/**
 * How long innocents' tasks take from due to done, over a minute: the 95th percentile. `most` and
 * `copies`: how many were open at once.
 */
async function simulate(loads: Load[], innocent: { resources: string[]; ms: number; everyMs: number }) {
  const time = makeClock();
  const places = createTaskPlaces(GENERATE_PLACES, time.clock);
  let queue: Waiting[] = [];
  const delays: number[] = [];
  const done = new Map<string, number>();
  let open = 0;
  let [most, openCopies, copies] = [0, 0, 0];
  for (const [number, { owners, each, resource, ms, hangsFrom = 0 }] of loads.entries())
    for (let turn = 0; turn < each; turn++)
      for (let owner = 0; owner < owners; owner++)
        queue.push({ owner: `${number} ${owner}`, resource, ms, hangsFrom, due: 0 });
  let made = 0;
  const { kick } = createWorker<Waiting & { owner_id: string }>({
    claim: async (room) => {
      await time.sleep(5);
      const now = time.now();
      const due = queue.filter((task) => task.due <= now);
      const tasks = room <= 0 ? [] : choose(due, Math.min(room, 10), places.room(Math.min(room, 10)));
      queue = queue.filter((task) => !tasks.includes(task));
      await time.sleep(3);
      return { items: tasks.map((task) => ({ ...task, owner_id: task.owner })), more: tasks.length > 0 };
    },
    work: (task) =>
      places.hold(task, async () => {
        most = Math.max(most, ++open);
        if (task.resource.includes(" ")) copies = Math.max(copies, ++openCopies);
        await time.sleep(time.now() < task.hangsFrom ? QUICK_MS : task.ms);
        open -= 1;
        if (task.resource.includes(" ")) openCopies -= 1;
        done.set(task.resource, (done.get(task.resource) ?? 0) + 1);
        if (task.owner.startsWith("innocent")) delays.push(time.now() - task.due);
        else queue.push({ ...task, due: time.now() + 2_000 }); // tried again
      }),
    identify: () => ({}),
    log: createLog({}, () => undefined),
    clock: time.clock,
    limits: GENERATE_LIMITS,
  });
  const add = () => {
    if (time.now() > 25_000) return;
    const owner = `innocent ${made % 50}`;
    const resource = innocent.resources[made++ % innocent.resources.length] ?? "";
    queue.push({ owner, resource, ms: innocent.ms, hangsFrom: 0, due: time.now() });
    time.clock.after(innocent.everyMs, add);
  };
  add();
  await time.runUntil(Promise.race([kick(), time.sleep(60_000)]));
  return { p95: quantile(delays, 0.95), count: delays.length, most, copies, done };
}

const QUICK_MS = 300;
const FRAME = { resources: ["good/model"], ms: 400, everyMs: 200 };

describe("innocents' tasks, each of 400 ms, from the first moment of a process on", () => {
  test.each([
    ["nine owners × 4 tasks of a model that hangs", [{ owners: 9, each: 4, resource: "bad/model", ms: 20_000 }]],
    ["50 owners × 4 of it", [{ owners: 50, each: 4, resource: "bad/model", ms: 20_000 }]],
    ["600 owners × 4 of it", [{ owners: 600, each: 4, resource: "bad/model", ms: 20_000 }]],
    ["600 owners × 4 outputs that take 80 s", [{ owners: 600, each: 4, resource: "host bad/model", ms: 79_000 }]],
    [
      "ten models that hang, with 60 owners × 4 each",
      Array.from({ length: 10 }, (_, n) => ({ owners: 60, each: 4, resource: `bad/model-${n}`, ms: 20_000 })),
    ],
    [
      "a provider that hangs altogether, beside an output",
      ["bad/model", "poll", "cancel", "search"].map((resource) => ({ owners: 100, each: 4, resource, ms: 20_000 })),
    ],
  ] as [string, Load[]][])("%s → at most a second longer", async (_what, loads) => {
    const { p95, count, most } = await simulate(loads, FRAME);
    expect(count).toBeGreaterThan(100);
    expect(p95).toBeLessThan(FRAME.ms + 1_000);
    expect(most).toBeLessThanOrEqual(GENERATE_LIMITS.maxOpen);
  });
});

describe.each([1, 16])("%i models that were quick begin to hang at the same moment", (models) => {
  test.each([
    ["after a second", 1_000, 1],
    ["after a second, beside three others", 1_000, 3],
    ["after ten seconds", 10_000, 1],
    ["after ten seconds, beside three others", 10_000, 3],
  ])("%s → frames of others take at most a second longer", async (_when, hangsFrom, others) => {
    const loads = Array.from({ length: models }, (_, n) => ({
      ...{ owners: 60, each: 4, resource: `bad/model-${n}`, ms: 20_000, hangsFrom },
    }));
    const resources = Array.from({ length: others }, (_, n) => `good/model-${n}`);
    const { p95, count, most } = await simulate(loads, { ...FRAME, resources });
    expect(count).toBeGreaterThan(100);
    expect(p95).toBeLessThan(FRAME.ms + 1_000);
    expect(most).toBeLessThanOrEqual(GENERATE_LIMITS.maxOpen);
  });
});

test.each([1_000, 10_000])(
  "twenty models hang from %i ms on → frames of three others at most a second longer",
  async (hangsFrom) => {
    const loads = Array.from({ length: 20 }, (_, n) => ({
      ...{ owners: 60, each: 4, resource: `bad/model-${n}`, ms: 20_000, hangsFrom },
    }));
    const { p95, count } = await simulate(loads, {
      ...FRAME,
      resources: ["good/model-0", "good/model-1", "good/model-2"],
    });
    expect(count).toBeGreaterThan(100);
    expect(p95).toBeLessThan(FRAME.ms + 1_000);
  },
);

describe.each([1, 8])("copies of %i models' outputs, which were quick, begin to hang at the same moment", (models) => {
  test.each([
    ["copies of another's", "host good/model"],
    ["creates", "good/model"],
  ])("%s take at most a second longer, and no more copies are open than fit into memory", async (_what, resource) => {
    const loads = Array.from({ length: models }, (_, n) => ({
      ...{ owners: 60, each: 4, resource: `host bad/model-${n}`, ms: 79_000, hangsFrom: 2_000 },
    }));
    const { p95, count, copies } = await simulate(loads, { ...FRAME, resources: [resource] });
    expect(count).toBeGreaterThan(100);
    expect(p95).toBeLessThan(FRAME.ms + 1_000);
    // A claim may bring nine more than there are places.
    expect(copies).toBeLessThan(GENERATE_PLACES.copies + 10);
  });
});

test("a model that was quick for one owner and for many → 32 of its tasks are open at once, as before", async () => {
  const quick = { resource: "good/model", ms: 300 };
  for (const owners of [1, 40]) {
    const { most } = await simulate([{ owners, each: 400 / owners, ...quick }], { ...FRAME, everyMs: 5_000 });
    expect(most, `${owners} owners`).toBeGreaterThanOrEqual(31);
  }
});

test("a model that hung and answers again → its tasks are all done", async () => {
  const { done } = await simulate([{ owners: 20, each: 4, resource: "slow/model", ms: 11_000 }], FRAME);
  expect(done.get("slow/model")).toBeGreaterThan(30);
});
