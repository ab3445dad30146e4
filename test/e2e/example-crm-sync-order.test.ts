import { afterAll, describe, expect, test } from "vitest";
import { type Change, type Crm, CrmUnavailable } from "../../examples/crm-sync/crm.ts";
import { readEvent } from "../../examples/crm-sync/read-event.ts";
import { settings } from "../../examples/crm-sync/settings.ts";
import { openStore, type Store } from "../../examples/crm-sync/store.ts";
import { createSync } from "../../examples/crm-sync/sync.ts";
import { documentedBodies } from "../tools/receiver-fixture.ts";
import { newCrmSync } from "../support/examples/crm-sync.ts";

// The rules of examples/crm-sync that real deliveries meet only by accident: two events at the same moment, a slow CRM.

const folder = await Deno.makeTempDir({ prefix: "kf-crm-order-" });
const open = new Set<Store>();
afterAll(async () => {
  for (const store of open) store.close();
  await Deno.remove(folder, { recursive: true });
});
const newFile = () => `${folder}/${crypto.randomUUID()}.sqlite`;

const signal = AbortSignal.timeout(30_000);
const OLD = "2026-03-01T09:30:00.000Z";
const NEW = "2026-03-01T09:31:00.000Z";
const change = (at: string, fields: Change["fields"], owner = "owner"): Change => ({
  ownerId: owner,
  projectId: `project of ${owner}`,
  part: "video",
  at,
  fields,
});

/** Of one process: a CRM whose every save waits to be let through, and what it was told, which is what was let through. */
function scene(file = newFile()) {
  const waiting: { release(): void; refuse(): void }[] = [];
  const told: Change["fields"][] = [];
  const save: Crm["save"] = ({ fields }) =>
    new Promise((resolve, reject) => {
      const release = () => {
        told.push(fields);
        resolve();
      };
      waiting.push({ release, refuse: () => reject(new CrmUnavailable("down")) });
    });
  const store = openStore(file);
  open.add(store);
  const sync = createSync({ store, crm: { save }, now: () => new Date() });
  /** Lets everything run that waits for nothing from outside; returns how many saves there were so far. */
  const settle = async () => {
    await new Promise((resolve) => setTimeout(resolve, 0));
    return waiting.length;
  };
  const release = async () => waiting[(await settle()) - 1]?.release();
  const refuse = async () => waiting[(await settle()) - 1]?.refuse();
  const crash = () => void (open.delete(store) && store.close());
  return { sync: (id: string, change: Change) => sync(id, change, signal), told, file, settle, release, refuse, crash };
}

describe("events that overtake each other", () => {
  test("two events of one owner at once, of two projects → the second waits its turn", async () => {
    const { sync, told, settle, release } = scene();
    const first = sync("a", change(OLD, { video: "failed: x" }));
    const second = sync("b", { ...change(NEW, { video: "succeeded" }), projectId: "another" });
    expect(await settle()).toBe(1);
    await release();
    expect(await first).toBe("saved");
    await release();
    expect(await second).toBe("saved");
    expect(told).toEqual([{ video: "failed: x" }, { video: "succeeded" }]);
  });

  test("the same event twice at once → processed once", async () => {
    const { sync, told, release } = scene();
    const both = [sync("a", change(OLD, { video: "succeeded" })), sync("a", change(OLD, {}))];
    await release();
    expect(await Promise.all(both)).toEqual(["saved", "repeated"]);
    expect(told).toHaveLength(1);
  });

  test("another owner's event while one is on its way → does not wait", async () => {
    const { sync, settle } = scene();
    for (const owner of ["one", "other"]) void sync(owner, change(OLD, {}, owner));
    expect(await settle()).toBe(2);
  });

  test("the newer one could not be told, then a crash, then the older → the older is not told, the newer is", async () => {
    const first = scene();
    const failing = first.sync("b", change(NEW, { video: "succeeded" }));
    await first.refuse();
    await expect(failing).rejects.toThrow("down");
    first.crash();

    const { sync, told, release } = scene(first.file);
    expect(await sync("a", change(OLD, { video: "failed: x" }))).toBe("overtaken");
    const again = sync("b", change(NEW, { video: "succeeded" }));
    await release();
    expect(await again).toBe("saved");
    expect(told).toEqual([{ video: "succeeded" }]);
  });

  test.each([["ab"], ["ba"]])("two of the same millisecond, in the order %s → the same one stays", async (order) => {
    const { sync, told, release } = scene();
    for (const id of order) {
      const done = sync(id, change(OLD, { video: id }));
      await release();
      await done;
    }
    expect(told.at(-1)).toEqual({ video: "b" });
  });
});

test("an event is deleted after 35 days, no sooner, and the latest one never", () => {
  const store = openStore(newFile());
  const days = (count: number) => new Date(Date.UTC(2026, 0, 1 + count));
  store.claim("b", change(NEW, {}));
  store.markDone("b", days(0));
  store.markDone("c", days(34));
  expect(store.isDone("b")).toBe(true);
  store.markDone("d", days(36));
  expect([store.isDone("b"), store.isDone("c")]).toEqual([false, true]);
  expect(store.claim("a", change(OLD, {}))).toBe(false);
  store.close();
});

test("a second process with the same file → one line and exit 1, instead of two that do not see each other's turns", async () => {
  const [one, other] = await Promise.all([newCrmSync(), newCrmSync()]);
  const environment = { WEBHOOK_SECRET: `whsec_${btoa("secret".repeat(4))}`, STORE_FILE: newFile() };
  try {
    await one.start(environment);
    const refused = { code: 1, error: expect.stringMatching(/^[^\n]*locked[^\n]*\n$/) };
    expect(await other.run(environment)).toMatchObject(refused);
  } finally {
    await Promise.all([one.stop(), other.stop()]);
  }
});

test("no secret → named in one line, exit 1", async () => {
  const sync = await newCrmSync();
  expect(await sync.run({})).toMatchObject({ code: 1, error: expect.stringMatching(/^[^\n]*WEBHOOK_SECRET[^\n]*\n$/) });
  await sync.stop();
});

test("every body of docs/receive-webhooks.md → the part that it describes; fields of the future do no harm; a test or a type of the future → nothing", () => {
  const bodies = documentedBodies.map((body) => JSON.parse(body));
  const read = bodies.map((body) => readEvent({ ...body, later: 1, data: { ...body.data, later: 2 } }));
  expect(read.map((one) => one && [one.part, one.fields])).toEqual([
    ["project", { title: "Harbour", textPrompt: "A harbour at dawn, fog, one red boat", description: "" }],
    ["video", { video: "succeeded" }],
    [
      "first-frame",
      {
        firstFrame:
          "failed: The provider rejected the content of the input. Change the prompt or the images. It said: flagged.",
      },
    ],
    null, // budget.exhausted
    null, // webhook.test
  ]);
  expect(readEvent({ type: "project.sold", data: {} })).toBeNull();
});

test("README.md → names every variable that is read", async () => {
  const readme = await Deno.readTextFile(new URL("../../examples/crm-sync/README.md", import.meta.url));
  for (const name of Object.keys(settings.shape)) expect(readme).toContain(`\`${name}\``);
});
